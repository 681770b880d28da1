/** A command that installs packages and then runs a program from them. */
export interface PackageRun {
  readonly runner: 'npm' | 'bun' | 'uv'
  /** Packages to install, in the runner's syntax: `name`, `name@1.2`, `@scope/name`, `name[extra]==1.2`. The first has
   * the program. */
  readonly specs: readonly string[]
  /** The program's name; undefined: the first package's default one. */
  readonly program: string | undefined
  /** The program's arguments. */
  readonly args: readonly string[]
}

interface Grammar {
  readonly runner: PackageRun['runner']
  /** Options that name a package to install; the value follows or is after `=`. */
  readonly packages: readonly string[]
  /** Options for further packages, beside the one with the program. */
  readonly besides: readonly string[]
  /** Options without a value that do not matter here. */
  readonly flags: readonly string[]
}

const NPX: Grammar = {
  runner: 'npm',
  packages: ['-p', '--package'],
  besides: [],
  flags: ['-y', '--yes', '-q', '--quiet', '--silent', '--prefer-online', '--prefer-offline', '--'],
}
const BUNX: Grammar = { ...NPX, runner: 'bun', flags: ['-y', '--yes', '--bun', '--silent', '--verbose', '--'] }
const UVX: Grammar = { runner: 'uv', packages: ['--from'], besides: ['--with', '-w'], flags: ['-q', '--quiet', '--'] }

/** The command lines of each runner, longest first. */
const CALLS: readonly (readonly [readonly string[], Grammar])[] = [
  [['uv', 'tool', 'run'], UVX],
  [['uvx'], UVX],
  [['npm', 'exec'], NPX],
  [['npm', 'x'], NPX],
  [['npx'], NPX],
  [['bun', 'x'], BUNX],
  [['bunx'], BUNX],
]

/** The absolute path of a program that is found by name anyway. */
const SHARED_PROGRAM = /^(?:\/usr(?:\/local)?)?\/bin\/([^/]+)$/

/**
 * Parses the command line of a package runner (npx, bunx, uvx and their longer forms, by name or absolute path).
 * Undefined for other programs, and for options beyond those that name packages: such a command runs unchanged.
 */
export function readPackageRun(command: string, args: readonly string[]): PackageRun | undefined {
  const words = [SHARED_PROGRAM.exec(command)?.[1] ?? command, ...args]
  const call = CALLS.find(([start]) => start.every((word, index) => words[index] === word))
  return call && readOptions(words.slice(call[0].length), call[1])
}

function readOptions(words: readonly string[], grammar: Grammar): PackageRun | undefined {
  const named: string[] = []
  const besides: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (grammar.flags.includes(word)) continue
    if (!word.startsWith('-')) return finish(grammar, named, besides, word, words.slice(at + 1))
    const [option = word, inline] = splitOnce(word, '=')
    const value = inline ?? words[++at]
    if (!isSpec(value)) return undefined
    if (grammar.packages.includes(option)) named.push(value)
    else if (grammar.besides.includes(option)) besides.push(value)
    else return undefined
  }
  return undefined
}

/** The text before and after the first divider; one part if there is none. */
function splitOnce(text: string, divider: string): readonly string[] {
  const at = text.indexOf(divider)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + divider.length)]
}

function finish(
  { runner }: Grammar,
  named: readonly string[],
  besides: readonly string[],
  word: string,
  args: readonly string[],
): PackageRun | undefined {
  if (named.length > 0) return { runner, specs: [...named, ...besides], program: word, args }
  if (!isSpec(word)) return undefined
  if (runner !== 'uv') return { runner, specs: [word, ...besides], program: undefined, args }
  // uvx accepts a version in the form of npx.
  const [name = '', version] = word.split('@')
  const spec = version === undefined || version === 'latest' ? name : `${name}==${version}`
  return { runner, specs: [spec, ...besides], program: name.replace(/\[.*$/, ''), args }
}

/** A package of a registry: not a path, URL, or text that an installer would parse as an option. */
function isSpec(word: string | undefined): word is string {
  if (word === undefined || word.length > 300) return false
  return /^(?:@[\w.-]+\/)?[A-Za-z0-9_][\w.-]*(?:\[[\w.,-]+\])?(?:(?:@|==|>=|<=|~=|>|<)[\w.*+~^<>=,|! -]*)?$/.test(word)
}
