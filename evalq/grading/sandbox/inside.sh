# Runs inside the sandbox, given to `bash -c`: loads the code on stdin and calls its function; $1 is its name.
# Whatever the function prints goes to descriptor 3, after a line that says that the code was loaded.
IFS= read -r -d '' _answer_source
exec </dev/null
_answer_function=$1
shift
if [[ -z $_answer_function ]]; then
  printf 'loaded\n' >&3
  eval "$_answer_source" >&3
  exit
fi
eval "$_answer_source"
if ! declare -F -- "$_answer_function" >/dev/null; then
  printf "the code defines no function '%s'\n" "$_answer_function" >&2
  exit 1
fi
printf 'loaded\n' >&3
"$_answer_function" "$@" >&3
