import type { UserActor } from '../../contract/records.ts'
import { CountedBody } from '../../request/held-body.ts'
import type { LiveFeed } from './live.ts'
import type { Topic } from './live-events.ts'

/** Limit of the queue for one reader, in bytes, beside the system's own buffers. */
const WAITING_BYTES = 256 * 1024

/** The feed as Server-Sent Events, until the client disconnects or the credential ends. Throws `quota_streams`. */
export async function liveEventStream(
  feed: LiveFeed,
  actor: UserActor,
  topics: ReadonlySet<Topic>,
  since: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let membership: { leave(): void; drained(): void } | undefined
  const close = (): void => {
    membership?.leave()
    controller = undefined
  }
  const stream = new CountedBody(
    {
      start: started => {
        controller = started
        // Some servers hold back a response's head until the first bytes of its body.
        started.enqueue(encoder.encode(': ok\n\n'))
      },
      pull: () => membership?.drained(),
      cancel: close,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: WAITING_BYTES }),
  )
  const write = (text: string): boolean => {
    if (!controller || (controller.desiredSize ?? 0) <= 0) return false
    controller.enqueue(encoder.encode(text))
    return true
  }
  signal.addEventListener('abort', close, { once: true })
  membership = await feed.join(actor, topics, since, {
    get waitingBytes() {
      return controller ? WAITING_BYTES - (controller.desiredSize ?? WAITING_BYTES) : 0
    },
    joined() {},
    event: ({ id, name, text }) => write(`id: ${id}\nevent: ${name}\ndata: ${text}\n\n`),
    lost: count => write(`event: stream.lost\ndata: ${JSON.stringify({ lost: count })}\n\n`),
    ping: () => void write(': ping\n\n'),
    end(code) {
      const ended = controller
      controller = undefined
      if (!ended) return
      ended.enqueue(encoder.encode(`event: stream.end\ndata: ${JSON.stringify({ code })}\n\n`))
      ended.close()
    },
  })
  // The client may have disconnected while it was joined.
  if (signal.aborted) close()
  return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } })
}
