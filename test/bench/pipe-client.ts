import { TEXT } from './http-client.ts'
import type { Latencies } from './latencies.ts'

interface Answer {
  readonly id: number
  readonly result?: { readonly content?: readonly { readonly text?: string }[] }
}

/**
 * Speaks to one stdio server over its pipes, `count` calls in flight: as near to the server as a client can be.
 * Each session is on its own, as it is over HTTP: it writes its next call when its own answer came, and calls of several
 * sessions are not joined into one write. Joined on both sides, the pipe carries up to four times as many, which no set of
 * independent clients and no server under Node would see.
 */
export async function pipeLoad(
  command: readonly string[],
  count: number,
  latencies: () => Latencies | undefined,
  onError: (message: string) => void,
): Promise<{ stop(): Promise<void> }> {
  const child = Bun.spawn([...command], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const waiting = new Map<number, (answer: Answer) => void>()
  let lastId = 0
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const chunk of child.stdout) {
      const text = rest + decoder.decode(chunk, { stream: true })
      let from = 0
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
        const answer: Answer = JSON.parse(text.slice(from, end))
        const resolve = waiting.get(answer.id)
        waiting.delete(answer.id)
        resolve?.(answer)
        from = end + 1
      }
      rest = text.slice(from)
    }
  }
  const reading = read()
  const write = (message: object): void => {
    child.stdin.write(`${JSON.stringify(message)}\n`)
    child.stdin.flush()
  }
  const request = (method: string, params: object): Promise<Answer> => {
    lastId += 1
    const id = lastId
    return new Promise(resolve => {
      waiting.set(id, resolve)
      write({ jsonrpc: '2.0', id, method, params })
    })
  }
  await request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  })
  write({ jsonrpc: '2.0', method: 'notifications/initialized' })

  let stopping = false
  const session = async (): Promise<void> => {
    while (!stopping) {
      const start = performance.now()
      const answer = await request('tools/call', { name: 'echo', arguments: { text: TEXT } })
      if (answer.result?.content?.[0]?.text === TEXT) latencies()?.add(performance.now() - start)
      else onError(JSON.stringify(answer))
    }
  }
  const sessions = Promise.all(Array.from({ length: count }, session))
  return {
    async stop() {
      stopping = true
      await Promise.race([sessions, Bun.sleep(5_000)])
      child.kill()
      await reading
    },
  }
}
