/**
 * Supports only VERSIONS (separated by commas, the newest first) and rejects every other one as REFUSE says: `list` (JSON-RPC
 * error with `data.supported`), `silent` (without a list), `internal` (-32603), `exit` (as `silent`, and the program ends). ANSWER replaces the version
 * in the answer. Stdio, or HTTP with BY=http, where `status` rejects with STATUS (default 400) and a text. `asked`: all requested versions in
 * order, kept in the file ASKED if it is set.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onMessages, say } from './lines.ts'

const { VERSIONS = '2024-11-05', REFUSE = 'list', ANSWER, BY = 'stdio', ASKED = '', STATUS = '400' } = process.env
const versions = VERSIONS.split(',')

interface Request {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly protocolVersion?: string }
}

function answer({ id, method, params }: Request): object {
  const result = (value: object) => ({ jsonrpc: '2.0', id, result: value })
  if (method === 'tools/list') return result({ tools: [{ name: 'asked', inputSchema: { type: 'object' } }] })
  if (method === 'tools/call') return result({ content: [{ type: 'text', text: readFileSync(ASKED, 'utf8') }] })
  if (method === 'ping') return result({})
  if (method !== 'initialize') return { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } }
  const asked = params?.protocolVersion ?? ''
  appendFileSync(ASKED, `${asked} `)
  if (versions.includes(asked))
    return result({
      protocolVersion: ANSWER ?? asked,
      capabilities: { tools: {} },
      serverInfo: { name: 'old', version: '1' },
    })
  const data = REFUSE === 'list' ? { data: { supported: versions, requested: asked } } : {}
  if (REFUSE === 'internal') return { jsonrpc: '2.0', id, error: { code: -32_603, message: 'Internal error' } }
  return { jsonrpc: '2.0', id, error: { code: -32_602, message: 'Unsupported protocol version', ...data } }
}

let ending = false
if (BY === 'stdio')
  onMessages(message => {
    if (message.id === undefined || ending) return
    const said = answer(message as Request)
    say(JSON.stringify(said))
    ending = REFUSE === 'exit' && 'error' in said
    if (ending) setTimeout(() => process.exit(0), 20)
  })
else {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message = JSON.parse(body) as Request
    if (message.id === undefined) return response.writeHead(202).end()
    const said = answer(message)
    if ('error' in said && message.method === 'initialize' && REFUSE === 'status')
      return response.writeHead(Number(STATUS), { 'content-type': 'text/plain' }).end('Bad protocol version')
    const status = 'error' in said && message.method === 'initialize' ? 400 : 200
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(said))
  })
  server.listen(0, '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  })
}
