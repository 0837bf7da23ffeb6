# Environments of their own, beside that of Roost, made once: for scripts of this folder to read in.
#
# begin FOLDER WHAT FILE ...  makes FOLDER/venv anew, unless FOLDER is whole as these files say: then
#                             it ends the script. Calls at the same time wait for each other.
# pip_install WORD ...        gives that environment packages
# whole                       notes that FOLDER has all that it should
#
# PYTHON names the interpreter that it is made with (python3).

begin() {
    folder=$1 what=$2
    shift 2
    mkdir -p "$folder"
    wanted=$(cat tools/apart.sh "$@" | cksum)
    exec 9>"$folder/lock"
    flock 9
    [ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0
    echo "roost: installing $what into $folder (a minute)" >&2
    rm -f "$folder/installed"
    "${PYTHON:-python3}" -m venv --clear "$folder/venv"
    python="$folder/venv/bin/python"
}

pip_install() {
    "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

whole() {
    echo "$wanted" >"$folder/installed"
}
