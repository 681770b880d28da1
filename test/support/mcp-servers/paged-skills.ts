/**
 * A server of 2025-11-25 over stdio with `COUNT` skills, ten on a page, named after `NAMED`. `WAY=repeats`: each page after the
 * first names its own cursor; `WAY=fails`: it refuses every page but the first. `WAY=endless`: empty pages without end. The
 * tool `pages` says how many were read. The addresses begin with `BASE` (`skill://`); `skills/get` describes each as `OWNER` does.
 */
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly cursor?: string; readonly uri?: string }
}

const PAGE = 10
let pages = 0
const { NAMED = 'skill', WAY, COUNT = '0', BASE = 'skill://', OWNER = 'nobody' } = process.env

function page(cursor: string | undefined): object {
  pages += 1
  if (WAY === 'endless') return { skills: [], nextCursor: String(pages) }
  const from = Number(cursor ?? 0)
  const to = Math.min(from + PAGE, Number(COUNT))
  const skills = Array.from({ length: to - from }, (_, at) => ({
    uri: `${BASE}${NAMED}-${from + at}/SKILL.md`,
    frontmatter: { name: `${NAMED}-${from + at}`, description: 'Of many' },
  }))
  if (to >= Number(COUNT)) return { skills }
  return { skills, nextCursor: WAY === 'repeats' && cursor !== undefined ? cursor : String(to) }
}

function answer({ id, method, params }: Message): void {
  if (id === undefined) return
  const write = (message: object): void =>
    void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...message })}\n`)
  if (method === 'initialize') {
    const capabilities = { tools: {}, resources: {}, extensions: { 'io.modelcontextprotocol/skills': {} } }
    write({ result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: NAMED, version: '1' } } })
  } else if (method === 'skills/list') {
    if (WAY === 'fails' && params?.cursor !== undefined) write({ error: { code: -32603, message: 'No more today' } })
    else write({ result: page(params?.cursor) })
  } else if (method === 'skills/get') {
    write({ result: { skill: { uri: params?.uri, frontmatter: { name: NAMED, description: `Of ${OWNER}` } } } })
  } else if (method === 'tools/list') write({ result: { tools: [{ name: 'pages', inputSchema: { type: 'object' } }] } })
  else if (method === 'tools/call') write({ result: { content: [{ type: 'text', text: String(pages) }] } })
  else if (method === 'resources/list') write({ result: { resources: [] } })
  else if (method === 'resources/templates/list') write({ result: { resourceTemplates: [] } })
  else if (method === 'server/discover') write({ error: { code: -32601, message: 'unknown' } })
  else write({ result: {} })
}

createInterface({ input: process.stdin }).on('line', line => answer(JSON.parse(line) as Message))
