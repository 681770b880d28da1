/** A command that means: install these packages, then run a program of theirs. */
export interface PackageRun {
  readonly runner: 'npm' | 'bun' | 'uv'
  /** What to install, as the runner writes it: `name`, `name@1.2`, `@scope/name`, `name[extra]==1.2`. The first has the program. */
  readonly specs: readonly string[]
  /** The program's name; undefined: the one that the first package is known for. */
  readonly program: string | undefined
  /** What the program gets. */
  readonly args: readonly string[]
}

interface Grammar {
  readonly runner: PackageRun['runner']
  /** Options that name a package to install, their value behind them or after `=`. */
  readonly packages: readonly string[]
  /** Further packages beside the one with the program. */
  readonly besides: readonly string[]
  /** Options without a value that say nothing here. */
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

/** The ways in which each runner is called, longest first. */
const CALLS: readonly (readonly [readonly string[], Grammar])[] = [
  [['uv', 'tool', 'run'], UVX],
  [['uvx'], UVX],
  [['npm', 'exec'], NPX],
  [['npm', 'x'], NPX],
  [['npx'], NPX],
  [['bun', 'x'], BUNX],
  [['bunx'], BUNX],
]

/** The whole path of a program that everybody finds by its name. */
const SHARED_PROGRAM = /^(?:\/usr(?:\/local)?)?\/bin\/([^/]+)$/

/**
 * Reads the command line of a package runner (npx, bunx, uvx and their longer forms, by name or whole path). Undefined for
 * every other program, and for options beyond those that only name packages: such a command runs as it stands.
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
    const [option = '', ...rest] = word.split('=')
    const list = grammar.packages.includes(option) ? named : grammar.besides.includes(option) ? besides : undefined
    if (!list) return undefined
    const value = word.includes('=') ? rest.join('=') : words[++at]
    if (!isSpec(value)) return undefined
    list.push(value)
  }
  return undefined
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
  // uvx writes a version as npx does.
  const [name = '', version] = word.split('@')
  const spec = version === undefined || version === 'latest' ? name : `${name}==${version}`
  return { runner, specs: [spec, ...besides], program: name.replace(/\[.*$/, ''), args }
}

/** A package of a registry: no path, no URL, nothing that an installer would take for an option. */
function isSpec(word: string | undefined): word is string {
  if (word === undefined || word.length > 300) return false
  return /^(?:@[\w.-]+\/)?[A-Za-z0-9_][\w.-]*(?:\[[\w.,-]+\])?(?:(?:@|==|>=|<=|~=|>|<)[\w.*+~^<>=,|! -]*)?$/.test(word)
}
