import type { HttpTarget } from './http-client.ts'
import { ENVELOPE, openSession, TEXT } from './http-client.ts'

/**
 * Clients that connect, list the tools, call one and disconnect, one visit after the other: five requests in the earlier era,
 * three in 2026-07-28. `onVisit` gets each visit's duration in milliseconds and its error.
 */
export function visitLoad(
  target: HttpTarget,
  count: number,
  onVisit: (ms: number, error: string | undefined) => void,
): { stop(): Promise<void> } {
  let stopping = false
  const client = async (): Promise<void> => {
    while (!stopping) {
      const start = performance.now()
      const error = await visit(target).catch((thrown: unknown) => String(thrown))
      onVisit(performance.now() - start, error)
    }
  }
  const clients = Array.from({ length: count }, client)
  return {
    async stop() {
      stopping = true
      await Promise.race([Promise.all(clients), Bun.sleep(5_000)])
    },
  }
}

async function visit(target: HttpTarget): Promise<string | undefined> {
  const modern = target.wire === 'modern'
  const headers = await openSession(target)
  const ask = async (method: string, params: object): Promise<string> => {
    const own = modern ? { 'mcp-method': method } : {}
    const sent = modern ? { ...params, _meta: ENVELOPE } : params
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: sent })
    return await (await fetch(target.url, { method: 'POST', headers: { ...headers, ...own }, body })).text()
  }
  if (modern) await ask('server/discover', {})
  const tools = await ask('tools/list', {})
  const answer = await ask('tools/call', { name: target.tool, arguments: { text: TEXT } })
  if (!modern) await (await fetch(target.url, { method: 'DELETE', headers })).text()
  return tools.includes(`"${target.tool}"`) && answer.includes(TEXT) ? undefined : `${tools}\n${answer}`
}
