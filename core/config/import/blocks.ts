/** Most blocks of a page that are tried. */
const MOST_BLOCKS = 20
/** Longest text that is searched for blocks. */
const MOST_CHARACTERS = 1024 * 1024
/** The same for the main thread. */
const SHORT_CHARACTERS = 256 * 1024

/** Addresses that install a server in a client: a name, a scheme, and a configuration. */
const INSTALL_LINK =
  /^(?:[a-z][a-z0-9+.-]{1,32}:(?:\/\/)?mcp\/|[a-z][a-z0-9+.-]{1,32}:\/\/.{0,256}(?:install-mcp|mcp(?:\/|%2f)(?:install|add)|add_mcp|extension)\?|https:\/\/(?:insiders\.)?vscode\.dev\/redirect\?url=)/i
/** Commands and addresses that pages have in their sentences. */
const INLINE =
  /^(?:\$ )?(?:(?:claude|codex|gemini|qwen|amp|npx|uvx|bunx|pnpm|docker|code|code-insiders|cursor) \S|https?:\/\/\S+$)/

/**
 * The parts of a pasted text that can be a configuration, the likeliest first: the blocks of code of a page, the text itself, the
 * object in braces inside of other words, links that install a server. A byte order mark and marks around the text are gone.
 */
export function pastedBlocks(text: string): readonly string[] {
  const plain = withoutMarks(text)
  if (plain.length > MOST_CHARACTERS) return [plain]
  const fenced = fencedIn(plain)
  const braces = /^[{[]/.test(plain) && /[}\]]$/.test(plain) ? undefined : objectIn(plain)
  const links = plain.split(/[\s"'<>()[\]]+/).filter(word => word.includes(':') && INSTALL_LINK.test(word))
  const code = plain.split('`').filter((part, index) => index % 2 === 1 && !part.includes('\n') && INLINE.test(part))
  const blocks = [...fenced, plain, ...(braces === undefined ? [] : [braces]), ...links, ...code]
  return [...new Set(blocks)].slice(0, MOST_BLOCKS)
}

/** The first block, without a search for others. */
export function likeliestBlock(text: string): string {
  const plain = text.length > SHORT_CHARACTERS ? text.replace(/^\ufeff/, '') : withoutMarks(text)
  return (plain.length > SHORT_CHARACTERS ? undefined : fencedIn(plain)[0]) ?? plain
}

/** The contents of blocks between lines of three marks or more. */
function fencedIn(text: string): readonly string[] {
  if (!/```|~~~/.test(text)) return []
  const blocks: string[] = []
  let lines: string[] | undefined
  for (const line of text.split('\n')) {
    if (!/^[ \t>]{0,8}(?:`{3}|~{3})/.test(line)) lines?.push(line)
    else if (lines === undefined) lines = []
    else {
      blocks.push(lines.join('\n').trim())
      lines = undefined
    }
  }
  return blocks.filter(block => block !== '')
}

/** Without a byte order mark, a fence of which one end was copied, quotes of code, and angle brackets around an address. */
function withoutMarks(text: string): string {
  const trimmed = withoutQuoting(text.replace(/^[\ufeff\u200b\u2060\s]+/, '').trimEnd())
  const fences = trimmed.match(/^[ \t>]{0,8}(?:`{3,}|~{3,})/gm) ?? []
  const bare = fences.length === 1 ? trimmed.replace(/^[ \t>]{0,8}(?:`{3,}|~{3,})[^\n]{0,64}$/m, '').trim() : trimmed
  const code = /^`([^`\n]+)`$/.exec(bare)?.[1]
  const address =
    /^<([a-z][a-z0-9+.-]*:[^\s<>]+)>$/i.exec(bare)?.[1] ??
    /^\[[^\]\n]{0,200}\]\(([a-z][a-z0-9+.-]*:[^\s()]+)\)$/i.exec(bare)?.[1]
  return (code ?? address ?? bare).trim()
}

/** Without the mark of a mail or of a change before each line, and with the characters for which a page has names. */
function withoutQuoting(text: string): string {
  const plain = text.includes('&quot;') && !text.includes('"') ? unescaped(text) : text
  if (!/^[>+]/.test(plain)) return plain
  const lines = plain.split('\n')
  const isQuoted = lines.length > 1 && lines.every(line => line.startsWith(plain.charAt(0)) || line.trim() === '')
  return isQuoted
    ? lines
        .map(line => line.slice(1))
        .join('\n')
        .trim()
    : plain
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll(/&(?:#39|apos);/g, "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}

/** The text from the first line that begins an object to the bracket that ends it; undefined where there is none. */
function objectIn(text: string): string | undefined {
  const start = /^[ \t]*(?=\{)|^[ \t]*(?="[^"\n]{1,64}"\s*:\s*\{)/m.exec(text)
  const from = start ? start.index + start[0].length : text.indexOf('{')
  if (from < 0) return undefined
  const end = endOfObject(text, from)
  return end === undefined ? undefined : text.slice(from, end)
}

/** A text in quotes, or a bracket. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"|[{}[\]]/g

function endOfObject(text: string, from: number): number | undefined {
  const tokens = new RegExp(TOKEN)
  tokens.lastIndex = from
  let depth = 0
  for (let found = tokens.exec(text); found; found = tokens.exec(text)) {
    const [token] = found
    if (token.startsWith('"')) continue
    depth += /[{[]/.test(token) ? 1 : -1
    if (depth === 0) return found.index + 1
  }
  return undefined
}
