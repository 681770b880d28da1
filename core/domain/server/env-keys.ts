/**
 * Variables that make a loader, interpreter, shell or package runner load code or start another program. Ordinary users
 * may not set them: they would turn a permitted command into another one. Compared in upper case, as some programs
 * ignore case.
 */
const FORBIDDEN: readonly RegExp[] = [
  // the dynamic loader and the C library
  /^(?:LD|DYLD)_/,
  /^(?:GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|MALLOC_.*|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|RESOLV_.*)$/,
  /^(?:OPENSSL_(?:CONF|MODULES|ENGINES)|SSLKEYLOGFILE)$/,
  // shells, and which program a name means
  /^(?:PATH|ENV|BASH_ENV|BASH_FUNC.*|BASHOPTS|SHELLOPTS|SHELL|IFS|PS4|PROMPT_COMMAND|ZDOTDIR|FPATH|CDPATH)$/,
  /^(?:EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESSOPEN|LESSCLOSE|SSH_ASKPASS|SUDO_ASKPASS)$/,
  // interpreters and virtual machines
  /^(?:NODE_(?!(?:ENV|NO_WARNINGS|DEBUG)$)|(?:BUN|DENO|NPM_CONFIG|YARN|PNPM|COREPACK)_)/,
  /^PYTHON(?!(?:UNBUFFERED|IOENCODING|UTF8|HASHSEED|DONTWRITEBYTECODE)$)/,
  /^(?:PIP|UV|POETRY|CONDA|VIRTUAL_ENV|PERL5?|PERLLIB|RUBY|RUBYOPT|RUBYLIB|GEM|BUNDLE|LUA|PHP|PHPRC|R|TCL|TCLLIBPATH)_/,
  /^(?:PERL5OPT|PERL5LIB|PERL5DB|PERLLIB|RUBYOPT|RUBYLIB|PHPRC|TCLLIBPATH|CLASSPATH|JULIA_.*|LUA_.*)$/,
  /^(?:JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|JAVA_OPTS|MAVEN_OPTS|GRADLE_OPTS)$/,
  /^(?:DOTNET|CORECLR|COR|COMPLUS|ERL|ELIXIR)_/,
  // compilers that are run behind a command
  /^(?:GOFLAGS|GOROOT|GOPATH|CGO_.*|RUSTC.*|RUSTFLAGS|CARGO_.*|MAKEFLAGS|CC|CXX)$/,
  // git: commands of its own, and configuration that names commands
  /^GIT_(?:.*COMMAND|CONFIG.*|EXEC_PATH|ASKPASS|EDITOR|SEQUENCE_EDITOR|PAGER|SSH|EXTERNAL_DIFF|TEMPLATE_DIR|PROXY_.*)$/,
]

/** True when an ordinary user may not set this variable for a process. */
export function envKeyForbidden(name: string): boolean {
  const upper = name.toUpperCase()
  return FORBIDDEN.some(pattern => pattern.test(upper))
}
