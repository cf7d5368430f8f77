"""Texts of "use in other apps". Code: (English, Chinese). Names inside other programs stay as those programs show them."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "other_apps.open": ("Use in other apps…", "在其他应用中使用…"),
    "other_apps.title": ("Use in other apps", "在其他应用中使用"),
    "other_apps.address": ("Base address", "接口地址"),
    "other_apps.model": ("Model", "模型"),
    "other_apps.settings": ("Settings for", "适用于"),
    "other_apps.app": ("Program", "程序"),
    "other_apps.app.open_webui": ("Open WebUI", "Open WebUI"),
    "other_apps.app.open_webui_docker": ("Open WebUI in Docker", "Open WebUI (Docker)"),
    "other_apps.app.continue": ("Continue", "Continue"),
    "other_apps.app.sillytavern": ("SillyTavern", "SillyTavern"),
    "other_apps.app.curl": ("curl (command line)", "curl（命令行）"),
    "other_apps.copy": ("Copy", "复制"),
    "other_apps.copied": ("Copied", "已复制"),
    "other_apps.test": ("Test", "测试"),
    "other_apps.testing": ("Asking the server as another app would…", "正在像其他应用那样询问服务器…"),
    "other_apps.not_running": ("Launch the server to test it.", "启动服务器后即可测试。"),
    "other_apps.no_plan": (
        "Open a model first: the settings follow from its plan.",
        "请先打开模型，设置由其方案得出。",
    ),
    "other_apps.answered": (
        "{models} answered in {seconds:.1f} s: “{text}”",
        "{models} 在 {seconds:.1f} 秒内回答：“{text}”",
    ),
    "other_apps.note.open_webui": (
        "Admin Panel > Settings > Connections > OpenAI API > +. The key stays the same as long as this window is open.",
        "Admin Panel > Settings > Connections > OpenAI API > +。只要本窗口开着，密钥不变。",
    ),
    "other_apps.note.docker_desktop": (
        "From inside a container this computer is host.docker.internal. Open WebUI then answers at port 3000 (3001 if "
        "that is the server's).",
        "在容器内，本机的名称是 host.docker.internal。之后通过 3000 端口打开 Open WebUI（若被服务器占用则为 3001）。",
    ),
    "other_apps.note.docker_linux": (
        "On Linux host.docker.internal does not reach a server on 127.0.0.1, so the container shares this computer's "
        "network. Open WebUI then answers at port 3000 (3001 if that is the server's).",
        "在 Linux 上 host.docker.internal 无法访问 127.0.0.1 上的服务器，因此容器共用本机网络。"
        "之后通过 3000 端口打开 Open WebUI（若被服务器占用则为 3001）。",
    ),
    "other_apps.note.continue": (
        "The whole of ~/.continue/config.yaml, or the part below “models:” for one that exists.",
        "即完整的 ~/.continue/config.yaml；若文件已存在，只需其中“models:”以下的部分。",
    ),
    "other_apps.note.sillytavern": (
        "API Connections (the plug), then Connect.",
        "打开 API Connections（插头图标），填写后点 Connect。",
    ),
    "other_apps.note.curl": (
        "In the shell that is chosen in the settings; the answer comes as JSON.",
        "使用设置中选择的 Shell；回答为 JSON 格式。",
    ),
    "problem.other_apps_no_answer": (
        "The server took the question and answered with nothing. Look at the log on this page.",
        "服务器收到了问题，但回答为空。请查看本页的日志。",
    ),
}
