#!/bin/sh
# Puts Lanewise into the menu of this user, with its icon and as a program for .gguf files; "--remove" takes it out again.
# Usage: installer/linux/desktop.sh [--remove] [COMMAND]     COMMAND: what starts it (default: lanewise-window on the PATH)
set -eu
data="${XDG_DATA_HOME:-$HOME/.local/share}"
entry="$data/applications/lanewise.desktop"
icon="$data/icons/hicolor/scalable/apps/lanewise.svg"
kind="$data/mime/packages/lanewise.xml"
refresh() {
    command -v update-desktop-database >/dev/null 2>&1 && update-desktop-database -q "$data/applications" || :
    command -v update-mime-database >/dev/null 2>&1 && [ -d "$data/mime/packages" ] && update-mime-database "$data/mime" || :
}
if [ "${1:-}" = "--remove" ]; then
    rm -f "$entry" "$icon" "$kind"
    refresh
    exit 0
fi
command="${1:-$(command -v lanewise-window || :)}"
if [ -z "$command" ]; then
    echo "lanewise-window is not on the PATH. Install it first (pipx install lanewise-*.whl), or name the command." >&2
    exit 1
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$(dirname "$entry")" "$(dirname "$icon")" "$(dirname "$kind")"
cp "$here/../../resources/icons/lanewise.svg" "$icon"
cat >"$kind" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="application/x-gguf">
    <comment>GGUF model</comment>
    <comment xml:lang="zh_CN">GGUF 模型</comment>
    <magic><match type="string" offset="0" value="GGUF"/></magic>
    <glob pattern="*.gguf"/>
  </mime-type>
</mime-info>
XML
# In an Exec line, quotes and backslashes of the command are escaped, and % is doubled.
quoted=$(printf '%s' "$command" | sed 's/[\\"`$]/\\&/g; s/%/%%/g')
cat >"$entry" <<DESKTOP
[Desktop Entry]
Type=Application
Name=Lanewise
Comment=Run MoE models that are larger than your VRAM
Comment[zh_CN]=在显存不够大的电脑上运行 MoE 模型
Exec="$quoted" %f
Icon=lanewise
Terminal=false
Categories=Development;Science;
MimeType=application/x-gguf;
StartupWMClass=lanewise
DESKTOP
refresh
echo "Lanewise is in the menu now ($entry)."
