import { shellWords } from '../../domain/program/shell-words.ts'
import type { EntryFields } from '../shape/entry-fields.ts'
import { nameOfUrl } from '../shape/entry-names.ts'
import { inRightForm } from '../shape/right-form.ts'
import { addressOf } from '../shape/usual-entry.ts'
import { readClientLine } from './client-lines.ts'
import { type ImportedEntry, namedAs, nameOfBody, unreadable } from './entry.ts'
import { readInstallLink } from './install-links.ts'
import { fromValue } from './values.ts'

/** Longest command line: a program gets at most 128 KiB of arguments, each character of which may be escaped. */
const COMMAND_LINE_CHARACTERS = 256 * 1024
/** Most lines of a text that are read one by one. */
const MOST_LINES = 200
/** The prompt of a shell in front of a command. */
const PROMPT =
  /^(?:\$|>|%|❯|!(?=[a-z])|#(?=\s+(?:npx|uvx|claude|docker|code|codex)\s)|PS [^>\n]{0,200}>|C:[^>\n]{0,200}>)\s*(?=\S)/

/** The servers of a text that is no JSON: an install link, a line that adds one to a client, a URL, a command line. */
export function fromText(text: string, fields: EntryFields): ImportedEntry[] {
  const lines = linesOf(text)
  const each = lines.length > 1 && lines.length <= MOST_LINES ? lines.map(line => fromMarkedLine(line, fields)) : []
  if (each.length > 0 && each.every(entries => entries !== undefined)) return each.flat()
  const [only = text] = lines.length === 1 ? lines : [text]
  return fromMarkedLine(only, fields) ?? [fromLine(only)]
}

/** The lines of a text without comments of a shell; a line that ends in a backslash continues. */
function linesOf(text: string): readonly string[] {
  return text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '' && !/^#\s/.test(line))
}

/** A link, a client's line or an address: a text with several of these lines has several servers. */
function fromMarkedLine(written: string, fields: EntryFields): ImportedEntry[] | undefined {
  const line = written.replace(PROMPT, '')
  if (line.length > COMMAND_LINE_CHARACTERS) return undefined
  const added = readInstallLink(line) ?? readClientLine(line)
  if (typeof added === 'string') return [unreadable(added)]
  if (added) return named(fromValue(added.value, '#', { fields }), added.name, added.warnings)
  return /^https?:\/\/\S+$/i.test(line) ? [fromUrl(line)] : undefined
}

/** The name beside a configuration counts where that has one server. */
function named(entries: ImportedEntry[], name: string | undefined, more: readonly string[]): ImportedEntry[] {
  // The pointers of such a configuration do not lead into the pasted text.
  const [only, ...others] = entries.map(({ place: _, ...entry }) => entry)
  if (!only || others.length > 0) return entries.map(({ place: _, ...entry }) => entry)
  const as: Partial<ReturnType<typeof namedAs>> = name === undefined ? {} : namedAs(name)
  const warnings = [...(only.warnings ?? []), ...more]
  return [
    {
      ...only,
      ...as,
      body: { ...only.body, name: as.name ?? only.name },
      ...(warnings.length === 0 ? {} : { warnings }),
    },
  ]
}

/** A command line, or an address without a scheme. */
export function fromLine(written: string): ImportedEntry {
  const line = written.replace(PROMPT, '')
  if (/^https?:\/\/\S+$/i.test(line)) return fromUrl(line)
  const address = /[./]/.test(line) ? addressOf(line) : undefined
  if (address !== undefined && isAddress(line)) {
    return { ...fromUrl(address), warnings: [`its address has no scheme: it counts as ${address.split(':', 1)[0]}://`] }
  }
  const problem = pastedByMistake(line)
  return problem === undefined ? fromCommandLine(line) : unreadable(problem)
}

/** A host that is no name of a program or of a package, such as `run.sh` or `server.py`. */
function isAddress(text: string): boolean {
  const [host = ''] = text.split(/[/?#]/)
  return host !== text
    ? !/\.(?:sh|py|js|ts|mjs|cjs|exe|cmd|bat|rb|jar)$/i.test(text)
    : /^localhost:\d+$|^(?:\d+\.){3}\d+:\d+$|\.(?:com|dev|io|ai|org|net|app|cloud|example)(?::\d+)?$/i.test(text)
}

function pastedByMistake(text: string): string | undefined {
  if (/^\s*[{[]/.test(text)) return 'This is JSON inside a JSON string; paste the inner JSON itself'
  // As a command line, the first word of such a file would be run.
  if (/^[^\s:=]{1,64}:\s/.test(text)) return 'This looks like YAML, and names no server in a form that is known'
  if (/^[^\s:=]{1,64}[ \t]{1,8}=\s/.test(text))
    return 'This looks like TOML, and names no server in a form that is known'
  if (/^(?:export|const|let|var|import|from|return|def|class)\s/.test(text))
    return 'This is a line of a program or of a shell and starts no server; paste the configuration in it'
  if (
    /^(?:sudo\s+)?(?:(?:npm|pnpm|yarn|bun|pip3?|pipx|brew|apt|apt-get|cargo|go)\s+(?:install|i|add)|uv\s+(?:tool\s+install|add|pip)|docker\s+pull|git\s+clone)\s/.test(
      text,
    )
  )
    return 'This command installs something and starts no server; paste the command that starts it'
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/\S*$/i.exec(text)?.[1]?.toLowerCase()
  if (scheme === 'file') return 'This is the address of a file; paste what the file holds'
  return scheme === undefined ? undefined : `An address with ${scheme}:// cannot be imported; http and https can`
}

function fromUrl(url: string): ImportedEntry {
  if (!URL.canParse(url)) return { ...unreadable('The address is no URL'), body: { name: 'server', url } }
  const name = nameOfUrl(new URL(url))
  return { name, body: { name, url } }
}

function fromCommandLine(line: string): ImportedEntry {
  if (line.length > COMMAND_LINE_CHARACTERS)
    return unreadable(`A command line has at most ${COMMAND_LINE_CHARACTERS} characters, this one ${line.length}`)
  const read = shellWords(line)
  if (!read.ok) return unreadable(`The command line: ${read.problem}`)
  const [command = '', ...args] = read.words
  const env = Object.keys(read.variables).length > 0 ? { env: { ...read.variables } } : {}
  const { body, warnings } = inRightForm({ command, args, ...env })
  const name = nameOfBody(body)
  return { name, body: { name, ...body }, ...(warnings.length === 0 ? {} : { warnings }) }
}
