/* Starts Lanewise: loads runtime\python313.dll from the folder of this program and runs "-m app ARGUMENTS" in this very
 * process, so that the task manager, the taskbar and the firewall all show Lanewise and not Python.
 *
 * Compiled twice: Lanewise.exe (a window, no console) and lanewise-cli.exe (-DCONSOLE: the verbs of docs/cli.md).
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <shellapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#define LONGEST_PATH 32768

typedef int (*python_main)(int, wchar_t **);

/* MessageBox is the only thing that works without Python. Both languages: nothing has been chosen yet. */
static int tell(const wchar_t *english, const wchar_t *chinese, DWORD error) {
    wchar_t text[1024];
    swprintf(text, 1024, error ? L"%ls\n\n%ls\n\n(Windows error %lu)" : L"%ls\n\n%ls", english, chinese, error);
#ifdef CONSOLE
    fwprintf(stderr, L"%ls\n", english);
#else
    MessageBoxW(NULL, text, L"Lanewise", MB_ICONERROR | MB_OK);
#endif
    return 1;
}

static int fail(const wchar_t *english, const wchar_t *chinese) { return tell(english, chinese, GetLastError()); }

static wchar_t folder[LONGEST_PATH];
static wchar_t library[LONGEST_PATH]; /* also of the mark that setup.nsi leaves while it is at work */

static int find_folder(void) {
    DWORD length = GetModuleFileNameW(NULL, folder, LONGEST_PATH);
    if (length == 0 || length >= LONGEST_PATH) return 0;
    while (length > 0 && folder[length - 1] != L'\\') length--;
    folder[length] = 0;
    return length > 0;
}

static int run(void) {
    if (!find_folder()) return fail(L"Lanewise cannot tell where it is installed.", L"无法确定 Lanewise 的安装位置。");
    swprintf(library, LONGEST_PATH, L"%lsinstallation-not-finished.txt", folder);
    if (GetFileAttributesW(library) != INVALID_FILE_ATTRIBUTES)
        return tell(L"Lanewise is not completely installed. If its installer is running now, wait for its end; else run it "
                    L"again. Your settings are kept.",
                    L"Lanewise 尚未安装完整。如果安装程序正在运行，请等它结束；否则请重新运行安装程序。您的设置会保留。", 0);
    swprintf(library, LONGEST_PATH, L"%lsruntime\\python313.dll", folder);
    /* Only our own folder and the system's: a DLL planted in the current folder is never loaded. */
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    HMODULE python = LoadLibraryExW(library, NULL, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (!python)
        return fail(L"A part of Lanewise is missing or blocked (runtime\\python313.dll). Please install Lanewise again; "
                    L"an antivirus program may have removed the file.",
                    L"Lanewise 缺少一个部件，或它被拦截了（runtime\\python313.dll）。请重新安装 Lanewise；该文件也可能被杀毒软件删除了。");
    python_main start = (python_main)(void *)GetProcAddress(python, "Py_Main");
    int count = 0;
    wchar_t **given = CommandLineToArgvW(GetCommandLineW(), &count);
    if (!start || !given) return fail(L"Lanewise is damaged. Please install it again.", L"Lanewise 已损坏，请重新安装。");
    wchar_t **arguments = calloc((size_t)count + 6, sizeof *arguments);
    if (!arguments) return fail(L"There is no memory left to start Lanewise.", L"内存不足，无法启动 Lanewise。");
    int n = 0;
    arguments[n++] = given[0];
    arguments[n++] = L"-X";
    arguments[n++] = L"utf8";
    arguments[n++] = L"-m";
    arguments[n++] = L"app";
    for (int i = 1; i < count; i++) arguments[n++] = given[i];
    return start(n, arguments);
}

#ifdef CONSOLE
int wmain(void) { return run(); }
#else
int WINAPI wWinMain(HINSTANCE instance, HINSTANCE before, LPWSTR line, int show) {
    (void)instance, (void)before, (void)line, (void)show;
    /* Pages of several windows belong to one taskbar button, also when started by a shortcut. */
    HMODULE shell = LoadLibraryExW(L"shell32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    typedef HRESULT(WINAPI * set_id)(PCWSTR);
    set_id set = shell ? (set_id)(void *)GetProcAddress(shell, "SetCurrentProcessExplicitAppUserModelID") : NULL;
    if (set) set(L"Lanewise.Lanewise");
    return run();
}
#endif
