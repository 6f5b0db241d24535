@echo off
rem Finds the program osrc and becomes it: the one on PATH, else Python's own launcher, else WSL.
rem Never run on Windows yet. A task with percent signs or carets: use outsourcerer.ps1, or --task-file.
setlocal DisableDelayedExpansion
where /q osrc.exe
if not errorlevel 1 (
  osrc.exe %*
  goto done
)
where /q py.exe
if not errorlevel 1 (
  py.exe -3 -c "import outsourcerer" >nul 2>nul
  if not errorlevel 1 (
    py.exe -3 -m outsourcerer %*
    goto done
  )
)
where /q wsl.exe
if not errorlevel 1 (
  wsl.exe --exec sh -lc "command -v osrc" >nul 2>nul
  if not errorlevel 1 (
    wsl.exe --exec sh -lc "exec osrc \"$@\"" osrc %*
    goto done
  )
)
echo ERROR: osrc is not installed. 1>&2
echo   try: py -3 -m pip install outsourcerer, or install it in WSL 1>&2
exit /b 1
:done
exit /b %errorlevel%
