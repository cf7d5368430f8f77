; The installer of Lanewise for Windows: per user, no administrator. installer/windows/setup_exe.py fills in the defines:
; VERSION, TREE (the folder to install), OUTFILE, ICON, SIZE_KB, ROOM_KB (what a disk needs for it), SIZE_MB (the same, told),
; LONGEST (characters of the longest name inside), SOURCE (this folder).
; The first line matters: Debian's default stub is 32-bit, which neither wine64 nor 64-bit-only Windows images run. A 32-bit
; Windows refuses this file by itself, in its own words.
Target amd64-unicode
Unicode true
!ifdef QUICK
  SetCompressor zlib
!else
  SetCompressor /SOLID lzma
!endif
ManifestDPIAware true
ManifestSupportedOS Win10
ManifestLongPathAware true
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
!define HALF_DONE "$INSTDIR\installation-not-finished.txt" ; src/launcher.c looks for it too
!define PREVIOUS "$INSTDIR\previous-version" ; what is replaced waits here until the new files are all there
!define ENVIRONMENT "SYSTEM\CurrentControlSet\Control\Session Manager\Environment"

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
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE LeaveDirectory
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\${APP}.exe"
!insertmacro MUI_PAGE_FINISH
!define MUI_PAGE_CUSTOMFUNCTION_SHOW un.HideSpace
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

; Exit codes of a silent run: 0 done, 2 stopped (Windows too old, ARM, no room, no permission, in use, not our folder).
!macro STOP TEXT
  MessageBox MB_OK|MB_ICONSTOP "${TEXT}" /SD IDOK
  SetErrorLevel 2
  Quit
!macroend

; Two of them at once would take each other's files away. The mutex ends with this process.
!macro ONLY_ONE
  System::Call 'kernel32::CreateMutexW(p 0, i 0, w "${APP}.setup") p .r1 ?e'
  Pop $0
  ${If} $0 = 183 ; ERROR_ALREADY_EXISTS
    !insertmacro STOP "$(SETUP_RUNNING)"
  ${EndIf}
!macroend

; The chosen language is that of Windows unless it was changed before: one question less.
Function .onInit
  SetShellVarContext current
  ReadRegStr $0 HKCU "Software\${APP}" "SetupLanguage"
  ${If} $0 != ""
    StrCpy $LANGUAGE $0
  ${EndIf}
  !insertmacro ONLY_ONE
  ${IfNot} ${AtLeastWin10}
    !insertmacro STOP "$(TOO_OLD)"
  ${EndIf}
  ${IfNot} ${AtLeastBuild} 18362
    !insertmacro STOP "$(TOO_OLD)"
  ${EndIf}
  Call AskOnArm
  Call SilentChoices
FunctionEnd

; Only Windows 11 for ARM runs this file at all. Silent: /ARM64=1 says yes.
Function AskOnArm
  ReadRegStr $0 HKLM "${ENVIRONMENT}" "PROCESSOR_ARCHITECTURE" ; of Windows itself, also seen from an emulated program
  ${GetParameters} $1
  ${GetOptions} $1 "/ARM64=" $2
  ${If} $0 == "ARM64"
  ${AndIf} $2 != "1"
    MessageBox MB_YESNO|MB_ICONEXCLAMATION|MB_DEFBUTTON2 "$(ARM_PROCESSOR)" /SD IDNO IDYES wanted
    SetErrorLevel 2
    Quit
  ${EndIf}
  wanted:
FunctionEnd

; "Space required: 0.0 KB" says nothing while removing.
Function un.HideSpace
  ShowWindow $mui.ComponentsPage.SpaceRequired 0
  ShowWindow $mui.ComponentsPage.SpaceAvailable 0
FunctionEnd

Function un.onInit
  SetShellVarContext current
  ReadRegStr $0 HKCU "Software\${APP}" "SetupLanguage"
  ${If} $0 != ""
    StrCpy $LANGUAGE $0
  ${EndIf}
  !insertmacro ONLY_ONE
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

; Everything that can go wrong is tried before the first old file is touched. $9: what is wrong with $INSTDIR, or empty.
Function FindPlaceProblem
  StrCpy $9 ""
  StrLen $0 "$INSTDIR"
  IntOp $0 $0 + ${LONGEST}
  ${If} $0 >= 259 ; one more for the separator
    StrCpy $9 "$(TOO_LONG)"
    Return
  ${EndIf}
  Call IsOccupied
  ${If} $8 = 1
    StrCpy $9 "$(OCCUPIED)"
    Return
  ${EndIf}
  StrCpy $7 0 ; 1: the folder was there before
  ${If} ${FileExists} "$INSTDIR\*.*"
    StrCpy $7 1
  ${EndIf}
  ClearErrors
  CreateDirectory "$INSTDIR"
  FileOpen $0 "$INSTDIR\can-be-written.tmp" w
  ${If} ${Errors}
    StrCpy $9 "$(NO_PERMISSION)"
  ${Else}
    FileClose $0
    Delete "$INSTDIR\can-be-written.tmp"
    Call HasRoom
    ${If} $8 = 0
      StrCpy $9 "$(NO_ROOM)"
    ${EndIf}
  ${EndIf}
  ${If} $7 = 0
    RMDir "$INSTDIR"
  ${EndIf}
FunctionEnd

; $8 = 1: the folder has something in it that is not Lanewise. Its "site" or "program" could be anybody's.
Function IsOccupied
  StrCpy $8 0
  ${If} ${FileExists} "$INSTDIR\${APP}.exe"
  ${OrIf} ${FileExists} "$INSTDIR\uninstall.exe"
  ${OrIf} ${FileExists} "${HALF_DONE}"
  ${OrIf} ${FileExists} "${PREVIOUS}\*.*"
    Return
  ${EndIf}
  FindFirst $0 $1 "$INSTDIR\*.*"
  ${DoWhile} $1 != ""
    ${If} $1 != "."
    ${AndIf} $1 != ".."
      StrCpy $8 1
    ${EndIf}
    FindNext $0 $1
  ${Loop}
  FindClose $0
FunctionEnd

; $8 = 1: there is room for the new files beside the old ones. Asked of the folder itself: another disk may be mounted there.
Function HasRoom
  StrCpy $8 1
  System::Call 'kernel32::GetDiskFreeSpaceExW(w "$INSTDIR\", *l .r2, *l .r4, *l .r5) i .r3'
  ${If} $3 <> 0
    System::Int64Op $2 / 1024
    Pop $2
    System::Int64Op $2 < ${ROOM_KB}
    Pop $3
    ${If} $3 = 1
      StrCpy $8 0
    ${EndIf}
  ${EndIf}
FunctionEnd

; The user stays on the page and can choose another folder.
Function LeaveDirectory
  Call FindPlaceProblem
  ${If} $9 != ""
    MessageBox MB_OK|MB_ICONEXCLAMATION "$9"
    Abort
  ${EndIf}
FunctionEnd

!macro FOR_EACH_PART ACTION
  !insertmacro ${ACTION} "runtime"
  !insertmacro ${ACTION} "site"
  !insertmacro ${ACTION} "program"
  !insertmacro ${ACTION} "licences"
  !insertmacro ${ACTION} "${APP}.exe"
  !insertmacro ${ACTION} "lanewise-cli.exe"
  !insertmacro ${ACTION} "lanewise.ico"
  !insertmacro ${ACTION} "sbom.cdx.json"
!macroend
!macro REMOVE_PART NAME
  RMDir /r "$INSTDIR\${NAME}"
  Delete "$INSTDIR\${NAME}"
!macroend
!macro SET_ASIDE_PART NAME
  ${If} ${FileExists} "$INSTDIR\${NAME}"
    Rename "$INSTDIR\${NAME}" "${PREVIOUS}\${NAME}"
  ${EndIf}
!macroend
!macro PUT_BACK_PART NAME
  ${If} ${FileExists} "${PREVIOUS}\${NAME}"
    RMDir /r "$INSTDIR\${NAME}"
    Delete "$INSTDIR\${NAME}"
    Rename "${PREVIOUS}\${NAME}" "$INSTDIR\${NAME}"
  ${EndIf}
!macroend

; $6 = 1: a whole earlier version is there, and it lies in its place. An upgrade that was cut short left it in ${PREVIOUS};
; an install that was cut short left only rubbish.
Function FindWholeVersion
  StrCpy $6 0
  ${If} ${FileExists} "${HALF_DONE}"
    ${If} ${FileExists} "${PREVIOUS}\*.*"
      StrCpy $6 1
      !insertmacro FOR_EACH_PART PUT_BACK_PART
    ${EndIf}
  ${ElseIf} ${FileExists} "$INSTDIR\runtime\*.*"
    StrCpy $6 1
  ${EndIf}
  RMDir /r "${PREVIOUS}"
FunctionEnd

; After a failure: the version that was there before is whole again, or nothing is there.
Function PutBack
  SetOutPath "$TEMP" ; NSIS stands in $INSTDIR, and a folder in use cannot be removed
  ${If} $5 = 1 ; every old part is aside: what lies in its place is new
    !insertmacro FOR_EACH_PART REMOVE_PART
  ${EndIf}
  ${If} $6 = 1
    !insertmacro FOR_EACH_PART PUT_BACK_PART
  ${Else}
    Delete "$INSTDIR\uninstall.exe"
  ${EndIf}
  RMDir /r "${PREVIOUS}"
  Delete "${HALF_DONE}"
  RMDir "$INSTDIR"
FunctionEnd

; NSIS ends the section by itself when a file cannot be written, and then calls this.
Function .onInstFailed
  ${If} ${FileExists} "${HALF_DONE}"
    Call PutBack
    MessageBox MB_OK|MB_ICONSTOP "$(NOT_COPIED)" /SD IDOK
    SetErrorLevel 2
  ${EndIf}
FunctionEnd

Section "!${APP}" SECTION_PROGRAM
  SectionIn RO
  Call WaitUntilClosed
  Call FindPlaceProblem
  ${If} $9 != ""
    !insertmacro STOP "$9"
  ${EndIf}
  Call FindWholeVersion
  StrCpy $5 0 ; 1: every old part is aside
  CreateDirectory "$INSTDIR"
  FileOpen $0 "${HALF_DONE}" w
  FileWrite $0 "${APP} ${VERSION}"
  FileClose $0
  ClearErrors
  ${If} $6 = 1
    CreateDirectory "${PREVIOUS}"
    !insertmacro FOR_EACH_PART SET_ASIDE_PART
  ${Else}
    !insertmacro FOR_EACH_PART REMOVE_PART
    ClearErrors ; what is not there cannot be removed
  ${EndIf}
  ${If} ${Errors} ; somebody has a file in it open
    Call PutBack
    !insertmacro STOP "$(STILL_RUNNING)"
  ${EndIf}
  StrCpy $5 1
  SetOutPath "$INSTDIR"
  ClearErrors
  File /r "${TREE}/*"
  ${IfNot} ${Errors}
    WriteUninstaller "$INSTDIR\uninstall.exe"
  ${EndIf}
  ${If} ${Errors}
    Call PutBack
    !insertmacro STOP "$(NOT_COPIED)"
  ${EndIf}
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
  RMDir /r "${PREVIOUS}"
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
  !insertmacro FOR_EACH_PART REMOVE_PART
  RMDir /r "${PREVIOUS}"
  Delete "${HALF_DONE}"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${APP}.lnk"
  Delete "$DESKTOP\${APP}.lnk"
  DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "${APP}"
  DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "${APP}"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "Software\${APP}"
  DeleteRegKey HKCU "Software\Classes\${PROGID}"
  DeleteRegValue HKCU "Software\Classes\.gguf\OpenWithProgids" "${PROGID}"
  DeleteRegKey /ifempty HKCU "Software\Classes\.gguf\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "Software\Classes\.gguf"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

; Off unless ticked (silent: /PURGE=1). Models are never deleted, also not those that Lanewise downloaded: they lie in
; data\models (app/common/paths.py), tens of GB that took hours.
Section /o "un.$(USER_DATA)" SECTION_DATA
  RMDir /r "$APPDATA\${APP}"
  RMDir /r "$LOCALAPPDATA\${APP}\cache"
  FindFirst $0 $1 "$LOCALAPPDATA\${APP}\data\*.*"
  ${DoWhile} $1 != ""
    ${If} $1 != "."
    ${AndIf} $1 != ".."
    ${AndIf} $1 != "models"
      RMDir /r "$LOCALAPPDATA\${APP}\data\$1"
      Delete "$LOCALAPPDATA\${APP}\data\$1"
    ${EndIf}
    FindNext $0 $1
  ${Loop}
  FindClose $0
  RMDir "$LOCALAPPDATA\${APP}\data\models" ; only when nothing is in it
  RMDir "$LOCALAPPDATA\${APP}\data"
  RMDir "$LOCALAPPDATA\${APP}"
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
