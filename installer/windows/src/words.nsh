; The installer's own sentences, English and Chinese side by side. UTF-8 with a byte order mark is not needed: Unicode true.
!macro SENTENCE NAME ENGLISH CHINESE
  LangString ${NAME} ${LANG_ENGLISH} "${ENGLISH}"
  LangString ${NAME} ${LANG_SIMPCHINESE} "${CHINESE}"
!macroend
!insertmacro SENTENCE WELCOME \
  "Lanewise runs Mixture-of-Experts models that are larger than your VRAM: it finds the best split between graphics card and RAM, and runs llama.cpp with it.$\r$\n$\r$\nIt is installed for you alone and needs no administrator. Nothing leaves your computer.$\r$\n$\r$\n$_CLICK" \
  "Lanewise 让显存装不下的 MoE 模型也能运行：它为显卡和内存找到最佳分配，并用 llama.cpp 运行。$\r$\n$\r$\n只为当前用户安装，不需要管理员权限。任何数据都不会离开您的电脑。$\r$\n$\r$\n$_CLICK"
!insertmacro SENTENCE ARM_PROCESSOR \
  "This computer has an ARM processor, and Lanewise is made for x64. Windows 11 can run it in emulation, more slowly, and its figures for the processor will not be right.$\r$\n$\r$\nInstall it all the same?" \
  "这台电脑使用 ARM 处理器，而 Lanewise 是为 x64 制作的。Windows 11 可以用模拟方式运行它，但速度较慢，而且它显示的处理器数据不准确。$\r$\n$\r$\n仍要安装吗？"
!insertmacro SENTENCE SETUP_RUNNING \
  "Another setup of Lanewise is running. Finish or close that one first. Nothing was changed." \
  "另一个 Lanewise 安装或卸载程序正在运行。请先完成或关闭它。没有做任何改动。"
!insertmacro SENTENCE TOO_OLD \
  "Lanewise needs Windows 10 version 1903 or newer. Nothing was installed; Windows Update brings a newer version." \
  "Lanewise 需要 Windows 10 版本 1903 或更新的版本。没有安装任何内容；可以通过 Windows 更新升级系统。"
!insertmacro SENTENCE STILL_RUNNING \
  "Lanewise is running. Close it (and stop its server), then choose Retry. Nothing has been changed yet." \
  "Lanewise 正在运行。请先关闭它（并停止它的服务），再点“重试”。目前没有做任何改动。"
!insertmacro SENTENCE NO_PERMISSION \
  "Windows does not allow writing to $INSTDIR. Choose another folder, such as the one that was suggested. Nothing was changed." \
  "Windows 不允许写入 $INSTDIR。请选择其他文件夹，例如安装程序建议的那个。没有做任何改动。"
!insertmacro SENTENCE NO_ROOM \
  "There is not enough room in $INSTDIR: Lanewise needs ${SIZE_MB} MB there while it is installed. Free some space, or choose a folder on another disk. Nothing was changed." \
  "$INSTDIR 所在磁盘的空间不足：安装 Lanewise 需要 ${SIZE_MB} MB。请腾出空间，或选择其他磁盘上的文件夹。没有做任何改动。"
!insertmacro SENTENCE OCCUPIED \
  "$INSTDIR holds files of something else. Choose an empty folder, or a new one inside it such as $INSTDIR\${APP}. Nothing was changed." \
  "$INSTDIR 中有其他程序或用户的文件。请选择空文件夹，或在其中新建一个，例如 $INSTDIR\${APP}。没有做任何改动。"
!insertmacro SENTENCE TOO_LONG \
  "The name of the folder is too long for Windows: with the names inside it, some files would have more than 259 characters. Choose a shorter one. Nothing was changed." \
  "文件夹的路径太长：加上其中的文件名，部分文件的完整路径会超过 Windows 允许的 259 个字符。请选择更短的路径。没有做任何改动。"
!insertmacro SENTENCE NOT_COPIED \
  "Not all files could be written to $INSTDIR; the disk may be full. The unfinished copy was removed, and an earlier version, if there was one, is back as it was. Free some space and run this installer again; your settings are kept." \
  "有文件无法写入 $INSTDIR，磁盘可能已满。未完成的文件已清除；如果之前装有旧版本，它已恢复原样。请腾出空间后再次运行本安装程序，您的设置会保留。"
!insertmacro SENTENCE DESKTOP_SHORTCUT "Shortcut on the desktop" "桌面快捷方式"
!insertmacro SENTENCE OPEN_GGUF "Offer Lanewise under $\"Open with$\" for .gguf files" "在 .gguf 文件的“打开方式”中加入 Lanewise"
!insertmacro SENTENCE GGUF_MODEL "GGUF model" "GGUF 模型"
!insertmacro SENTENCE ABOUT_PROGRAM "The program. Needs no administrator." "程序本身。不需要管理员权限。"
!insertmacro SENTENCE ABOUT_DESKTOP "Puts a shortcut on your desktop." "在桌面放一个快捷方式。"
!insertmacro SENTENCE ABOUT_GGUF "Other programs that open .gguf files stay as they are." "其他能打开 .gguf 文件的程序不受影响。"
!insertmacro SENTENCE USER_DATA "My settings, plans and engines" "我的设置、方案和引擎"
!insertmacro SENTENCE ABOUT_DATA \
  "Also deletes settings, saved plans, logs and the engines that Lanewise fetched. Models stay, also those that Lanewise downloaded." \
  "同时删除设置、已保存的方案、日志以及 Lanewise 下载的引擎。模型文件会保留，包括由 Lanewise 下载的模型。"
