/**
 * Line-wise JSON-RPC on stdin and stdout without a dependency, so that a fixture costs little memory and little time,
 * and may break the protocol wherever it is meant to.
 */
import { writeSync } from 'node:fs'

export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: string | number
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: a fixture takes what comes
  readonly params?: any
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** `line` is the message as it was written. */
export type Handler = (message: Message, line: string) => unknown

let rest = ''
let handler: Handler | undefined

/** Hands each message on stdin to the handler; the process ends with its input. */
export function onMessages(handle: Handler): void {
  handler = handle
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (chunk: string) => {
    const text = rest + chunk
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = text.slice(from, end)
      from = end + 1
      if (line.trim() !== '') handler?.(JSON.parse(line), line)
    }
    rest = text.slice(from)
  })
  process.stdin.on('end', () => process.exit(0))
}

/** Writes each message separately, as a server under Node does, whose writes to a pipe are synchronous. */
export function say(line: string): void {
  writeSync(1, `${line}\n`)
}

export function sendResult(id: string | number | undefined, result: unknown): void {
  say(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

export function sendError(id: string | number | undefined, code: number, message: string): void {
  say(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
}

export function sendText(id: string | number | undefined, text: string): void {
  sendResult(id, { content: [{ type: 'text', text }] })
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
}

export function tool(name: string, description: string, properties: Record<string, object> = {}): Tool {
  return { name, description, inputSchema: { type: 'object', properties } }
}

/** Answers initialize, ping and tools/list; true when the message was one of these or a notification. */
export function handleBasics(message: Message, name: string, tools: readonly Tool[]): boolean {
  if (message.method === 'initialize') {
    sendResult(message.id, {
      protocolVersion: message.params?.protocolVersion ?? '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name, version: '1.0.0' },
    })
    return true
  }
  if (message.method === 'ping') sendResult(message.id, {})
  else if (message.method === 'tools/list') sendResult(message.id, { tools })
  else if (message.id !== undefined && message.method !== 'tools/call') {
    sendError(message.id, -32601, `Method not found: ${message.method}`)
  } else return message.id === undefined
  return true
}
