# Finds the program osrc and becomes it: the one on PATH, else Python's own launcher, else WSL.
# Never run on Windows yet. Arguments are passed as they are, each as one word.
$ErrorActionPreference = 'Continue'
$PSNativeCommandArgumentPassing = 'Standard'

function Test-Command([string] $Name) {
    $null -ne (Get-Command -Name $Name -CommandType Application -ErrorAction SilentlyContinue)
}

if (Test-Command 'osrc.exe') {
    & 'osrc.exe' @args
    exit $LASTEXITCODE
}
if (Test-Command 'py.exe') {
    & 'py.exe' -3 -c 'import outsourcerer' 2>$null | Out-Null
    if ($LASTEXITCODE -eq 0) {
        & 'py.exe' -3 -m outsourcerer @args
        exit $LASTEXITCODE
    }
}
if (Test-Command 'wsl.exe') {
    & 'wsl.exe' --exec sh -lc 'command -v osrc' 2>$null | Out-Null
    if ($LASTEXITCODE -eq 0) {
        & 'wsl.exe' --exec sh -lc 'exec osrc "$@"' osrc @args
        exit $LASTEXITCODE
    }
}
[Console]::Error.WriteLine('ERROR: osrc is not installed.')
[Console]::Error.WriteLine('  try: py -3 -m pip install outsourcerer, or install it in WSL')
exit 1
