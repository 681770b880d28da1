import { checkName, isNameProblem, NAME_CHARACTERS } from '../../domain/names.ts'

/** `https://mcp.deepwiki.com/mcp` → `deepwiki`; addresses and local names keep their port. */
export function nameOfUrl(url: URL): string {
  const labels = url.hostname.split('.')
  if (labels.length < 2 || /^[\d.]+$|^\[/.test(url.hostname)) {
    return legalName([url.hostname, url.port].filter(part => part !== '').join('-'))
  }
  const candidates = labels.slice(0, -1).filter(label => !/^(www|api|mcp|sse|server)$/.test(label))
  // The longest label is the name, so not `co` in `example.co.uk`.
  return legalName(candidates.toSorted((one, other) => other.length - one.length)[0] ?? labels[0] ?? '')
}

const RUNNERS = new Set([
  'npx',
  'bunx',
  'uvx',
  'pipx',
  'pnpm',
  'yarn',
  'npm',
  'bun',
  'node',
  'python',
  'python3',
  'uv',
  'docker',
  'podman',
  'deno',
])
const RUNNER_WORDS = new Set(['run', 'exec', 'dlx', 'x', 'tool'])
/** Options of those programs that take a value. */
const TAKES_VALUE = new Set([
  '-p',
  '--package',
  '--from',
  '--with',
  '-e',
  '--env',
  '-v',
  '--volume',
  '--network',
  '--name',
  '--directory',
  '-m',
])

/** `npx -y @modelcontextprotocol/server-memory` → `memory`; without a package, the program's own name. */
export function nameOfCommand(command: string, args: readonly string[]): string {
  const program = lastPart(command).replace(/\.(exe|cmd)$/i, '')
  if (!RUNNERS.has(program)) return legalName(program)
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? ''
    if (word === '-m') return shortName(args[at + 1] ?? program)
    if (TAKES_VALUE.has(word)) at += 1
    else if (!word.startsWith('-') && !RUNNER_WORDS.has(word)) return shortName(word)
  }
  return legalName(program)
}

function shortName(word: string): string {
  const bare = lastPart(word)
    .replace(/(.)@.*$/s, '$1')
    .replace(/:.*$/s, '')
    .replace(/\.(py|js|ts|mjs|cjs)$/, '')
  const short = bare.replace(/^(mcp[-_])?server[-_]|^mcp[-_]/, '').replace(/[-_](mcp|mcp[-_]server|server)$/, '')
  return legalName(short === '' ? bare : short)
}

function lastPart(path: string): string {
  return path.split(/[\\/]/).findLast(part => part !== '') ?? ''
}

/** Only this much of a text is used for a name of 64 characters: trimming regular expressions are slow on very long
 * texts. */
const NAME_SOURCE_CHARACTERS = 1_024

function legalName(text: string): string {
  const name = text
    .slice(0, NAME_SOURCE_CHARACTERS)
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}_.-]+/gu, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
  return [...name].slice(0, 64).join('') || 'server'
}

/** Invisible characters and lone surrogates: a name that contains one is not a mere spelling mistake, and is rejected. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}]/u

/** Returns a server's name for a text: the text itself if it is valid or has invisible characters, else its valid characters. */
export function fittingName(written: string): string {
  if (UNSEEN.test(written) || !isNameProblem(checkName('server', written))) return written
  const plain = written
    .slice(0, NAME_SOURCE_CHARACTERS)
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{Nd} _.-]+/gu, '-')
  const short = [...plain.replace(/[- ]*-[- ]*/g, '-').replace(/^[-. \p{M}]+|[-. ]+$/gu, '')]
    .slice(0, NAME_CHARACTERS)
    .join('')
  return isNameProblem(checkName('server', short)) ? 'server' : short
}
