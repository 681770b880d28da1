import { createHmac } from 'node:crypto'

/** One request as it came. */
export interface Received {
  readonly path: string
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a body as it came
  readonly json: any
}

/** Listens on loopback for messages of channels, and answers 200, or with `answer`. */
export function startReceiver(answer: (received: Received, count: number) => Response = () => new Response('ok')) {
  const received: Received[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text()
      const path = new URL(request.url).pathname + new URL(request.url).search
      const one: Received = { path, headers: request.headers, text, json: parsed(text) }
      received.push(one)
      return answer(one, received.length)
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, received, stop: () => server.stop(true) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** True when a message is signed by Standard Webhooks; the signature is computed independently. */
export function isSigned({ headers, text }: Received, secret: string): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers.get('webhook-id')}.${headers.get('webhook-timestamp')}.${text}`
  return headers.get('webhook-signature') === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}
