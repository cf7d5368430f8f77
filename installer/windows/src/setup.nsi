; The installer of Lanewise for Windows: per user, no administrator. installer/windows/setup_exe.py fills in the defines:
; VERSION, TREE (the folder to install), OUTFILE, ICON, SIZE_KB, SOURCE (this folder).
; The first line matters: Debian's default stub is 32-bit, which neither wine64 nor 64-bit-only Windows images run.
Target amd64-unicode
Unicode true
!ifdef QUICK
  SetCompressor zlib
!else
  SetCompressor /SOLID lzma
!endif
ManifestDPIAware true
ManifestSupportedOS Win10
AllowSkipFiles off
CRCCheck force

!include MUI2.nsh
!include x64.nsh
!include WinVer.nsh
!include FileFunc.nsh
!include LogicLib.nsh

!define APP "Lanewise"
!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\${APP}"
!define PROGID "Lanewise.gguf"
!define HALF_DONE "$INSTDIR\installation-not-finished.txt"

Name "${APP}"
OutFile "${OUTFILE}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\${APP}"
InstallDirRegKey HKCU "Software\${APP}" "InstallDir"
BrandingText "${APP} ${VERSION}"

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${BANNER}"
!define MUI_UNWELCOMEFINISHPAGE_BITMAP "${BANNER}"
!define MUI_WELCOMEPAGE_TEXT "$(WELCOME)"
!define MUI_ABORTWARNING
!define MUI_COMPONENTSPAGE_SMALLDESC
!define MUI_LANGDLL_REGISTRY_ROOT HKCU
!define MUI_LANGDLL_REGISTRY_KEY "Software\${APP}"
!define MUI_LANGDLL_REGISTRY_VALUENAME "SetupLanguage"

!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\${APP}.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_COMPONENTS
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"
!include "${SOURCE}\words.nsh"

VIProductVersion "${VERSION}.0"
VIAddVersionKey /LANG=1033 ProductName "${APP}"
VIAddVersionKey /LANG=1033 FileDescription "${APP} setup"
VIAddVersionKey /LANG=1033 FileVersion "${VERSION}"
VIAddVersionKey /LANG=1033 ProductVersion "${VERSION}"
VIAddVersionKey /LANG=1033 CompanyName "${APP}"
VIAddVersionKey /LANG=1033 LegalCopyright "MIT licence"

; Exit codes of a silent run: 0 done, 2 stopped (Windows too old, no room, no permission, in use).
!macro STOP TEXT
  MessageBox MB_OK|MB_ICONSTOP "${TEXT}" /SD IDOK
  SetErrorLevel 2
  Quit
!macroend

; The chosen language is that of Windows unless it was changed before: one question less.
Function .onInit
  SetShellVarContext current
  ReadRegStr $0 HKCU "Software\${APP}" "SetupLanguage"
  ${If} $0 != ""
    StrCpy $LANGUAGE $0
  ${EndIf}
  ${IfNot} ${RunningX64}
    !insertmacro STOP "$(NEEDS_64_BIT)"
  ${EndIf}
  ${IfNot} ${AtLeastWin10}
    !insertmacro STOP "$(TOO_OLD)"
  ${EndIf}
  ${IfNot} ${AtLeastBuild} 18362
    !insertmacro STOP "$(TOO_OLD)"
  ${EndIf}
  Call SilentChoices
FunctionEnd

Function un.onInit
  SetShellVarContext current
  ReadRegStr $0 HKCU "Software\${APP}" "SetupLanguage"
  ${If} $0 != ""
    StrCpy $LANGUAGE $0
  ${EndIf}
  Call un.SilentChoices
FunctionEnd

; A program that runs keeps its files open: replacing half of them would break both the old and the new one.
!macro WAIT_UNTIL_CLOSED FUNCTION_PREFIX
Function ${FUNCTION_PREFIX}WaitUntilClosed
  again:
    IfFileExists "$INSTDIR\runtime\python313.dll" 0 free
    ClearErrors
    FileOpen $0 "$INSTDIR\runtime\python313.dll" a
    IfErrors busy
    FileClose $0
    Goto free
  busy:
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(STILL_RUNNING)" /SD IDCANCEL IDRETRY again
    SetErrorLevel 2
    Quit
  free:
FunctionEnd
!macroend
!insertmacro WAIT_UNTIL_CLOSED ""
!insertmacro WAIT_UNTIL_CLOSED "un."

; Everything that can go wrong is tried before the first old file is removed.
Function CheckPlace
  ClearErrors
  CreateDirectory "$INSTDIR"
  FileOpen $0 "${HALF_DONE}" w
  ${If} ${Errors}
    !insertmacro STOP "$(NO_PERMISSION)"
  ${EndIf}
  FileWrite $0 "${APP} ${VERSION}"
  FileClose $0
  ; Asked of the folder itself: another disk may be mounted there.
  System::Call 'kernel32::GetDiskFreeSpaceExW(w "$INSTDIR", *l .r2, *l .r4, *l .r5) i .r3'
  ${If} $3 <> 0
    System::Int64Op $2 / 1024
    Pop $2
    System::Int64Op $2 < ${SIZE_KB}
    Pop $3
    ${If} $3 = 1
      SetOutPath "$TEMP" ; NSIS stands in $INSTDIR, and a folder in use cannot be removed
      Delete "${HALF_DONE}"
      RMDir "$INSTDIR"
      !insertmacro STOP "$(NO_ROOM)"
    ${EndIf}
  ${EndIf}
FunctionEnd

!macro REMOVE_PROGRAM
  RMDir /r "$INSTDIR\runtime"
  RMDir /r "$INSTDIR\site"
  RMDir /r "$INSTDIR\program"
  RMDir /r "$INSTDIR\licences"
  Delete "$INSTDIR\${APP}.exe"
  Delete "$INSTDIR\lanewise-cli.exe"
  Delete "$INSTDIR\lanewise.ico"
  Delete "$INSTDIR\sbom.cdx.json"
!macroend

Section "!${APP}" SECTION_PROGRAM
  SectionIn RO
  Call WaitUntilClosed
  Call CheckPlace
  !insertmacro REMOVE_PROGRAM
  SetOutPath "$INSTDIR"
  ClearErrors
  File /r "${TREE}/*"
  ${If} ${Errors} ; half a program is worse than none
    SetOutPath "$TEMP"
    !insertmacro REMOVE_PROGRAM
    Delete "${HALF_DONE}"
    RMDir "$INSTDIR"
    !insertmacro STOP "$(NOT_COPIED)"
  ${EndIf}
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\${APP}.lnk" "$INSTDIR\${APP}.exe" "" "$INSTDIR\lanewise.ico" 0
  WriteRegStr HKCU "Software\${APP}" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "Software\${APP}" "SetupLanguage" "$LANGUAGE"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "${APP}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "${APP}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\lanewise.ico"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" ${SIZE_KB}
  Delete "${HALF_DONE}"
SectionEnd

Section "$(DESKTOP_SHORTCUT)" SECTION_DESKTOP
  CreateShortcut "$DESKTOP\${APP}.lnk" "$INSTDIR\${APP}.exe" "" "$INSTDIR\lanewise.ico" 0
SectionEnd

Section /o "$(OPEN_GGUF)" SECTION_GGUF
  WriteRegStr HKCU "Software\Classes\${PROGID}" "" "$(GGUF_MODEL)"
  WriteRegStr HKCU "Software\Classes\${PROGID}\DefaultIcon" "" "$INSTDIR\lanewise.ico,0"
  WriteRegStr HKCU "Software\Classes\${PROGID}\shell\open" "FriendlyAppName" "${APP}"
  WriteRegStr HKCU "Software\Classes\${PROGID}\shell\open\command" "" '"$INSTDIR\${APP}.exe" "%1"'
  WriteRegStr HKCU "Software\Classes\.gguf\OpenWithProgids" "${PROGID}" ""
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

!insertmacro MUI_FUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${SECTION_PROGRAM} "$(ABOUT_PROGRAM)"
  !insertmacro MUI_DESCRIPTION_TEXT ${SECTION_DESKTOP} "$(ABOUT_DESKTOP)"
  !insertmacro MUI_DESCRIPTION_TEXT ${SECTION_GGUF} "$(ABOUT_GGUF)"
!insertmacro MUI_FUNCTION_DESCRIPTION_END

; Silent: /GGUF=1 ticks "Open .gguf files", /DESKTOP=0 leaves the desktop alone.
Function SilentChoices
  ${GetParameters} $0
  ${GetOptions} $0 "/GGUF=" $1
  ${If} $1 == "1"
    !insertmacro SelectSection ${SECTION_GGUF}
  ${EndIf}
  ${GetOptions} $0 "/DESKTOP=" $1
  ${If} $1 == "0"
    !insertmacro UnselectSection ${SECTION_DESKTOP}
  ${EndIf}
FunctionEnd

Section "un.${APP}"
  SectionIn RO
  Call un.WaitUntilClosed
  !insertmacro REMOVE_PROGRAM
  Delete "${HALF_DONE}"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${APP}.lnk"
  Delete "$DESKTOP\${APP}.lnk"
  DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "${APP}"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "Software\${APP}"
  DeleteRegKey HKCU "Software\Classes\${PROGID}"
  DeleteRegValue HKCU "Software\Classes\.gguf\OpenWithProgids" "${PROGID}"
  DeleteRegKey /ifempty HKCU "Software\Classes\.gguf\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "Software\Classes\.gguf"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

; Off unless ticked (silent: /PURGE=1). Models are never touched: they lie where the user put them.
Section /o "un.$(USER_DATA)" SECTION_DATA
  RMDir /r "$APPDATA\${APP}"
  RMDir /r "$LOCALAPPDATA\${APP}"
SectionEnd

!insertmacro MUI_UNFUNCTION_DESCRIPTION_BEGIN
  !insertmacro MUI_DESCRIPTION_TEXT ${SECTION_DATA} "$(ABOUT_DATA)"
!insertmacro MUI_UNFUNCTION_DESCRIPTION_END

Function un.SilentChoices
  ${GetParameters} $0
  ${GetOptions} $0 "/PURGE=" $1
  ${If} $1 == "1"
    !insertmacro SelectSection ${SECTION_DATA}
  ${EndIf}
FunctionEnd
