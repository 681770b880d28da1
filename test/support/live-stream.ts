import type { Client } from './client.ts'
import { noteCodes } from './seen-codes.ts'
import { until } from './wait.ts'

export interface StreamEvent {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails where it is not so
  readonly data: any
}

/** One reader of `/api/stream`. The caller closes it. */
export interface LiveStream {
  readonly events: readonly StreamEvent[]
  /** The received text, unchanged. */
  text(): string
  ended(): boolean
  /** Waits for an event that fits. */
  next(fits: (event: StreamEvent) => boolean, what?: string): Promise<StreamEvent>
  close(): Promise<void>
}

export async function openStream(
  client: Client,
  query = '',
  headers: Record<string, string> = {},
): Promise<LiveStream> {
  const stop = new AbortController()
  const response = await fetch(`${client.url}/api/stream${query}`, {
    signal: stop.signal,
    headers: { authorization: `Bearer ${client.token}`, ...headers },
  })
  if (response.status !== 200) throw new Error(`/api/stream answered ${response.status}: ${await response.text()}`)
  const events: StreamEvent[] = []
  let text = ''
  let ended = false
  const reading = (async () => {
    let rest = ''
    const decoder = new TextDecoder()
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const part = decoder.decode(chunk, { stream: true })
      text += part
      noteCodes(part)
      const blocks = (rest + part).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) if (!block.startsWith(':')) events.push(eventOf(block))
    }
    ended = true
  })().catch(() => {})
  return {
    events,
    text: () => text,
    ended: () => ended,
    next: (fits, what = 'an event of the stream') => until(() => events.find(fits), { what }),
    async close() {
      stop.abort()
      await reading
    },
  }
}

function eventOf(block: string): StreamEvent {
  const field = (name: string): string | undefined =>
    block
      .split('\n')
      .find(line => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  const id = field('id')
  return { ...(id === undefined ? {} : { id }), event: field('event') ?? '', data: JSON.parse(field('data') ?? 'null') }
}
