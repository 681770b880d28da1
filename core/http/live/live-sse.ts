import type { UserActor } from '../../contract/records.ts'
import type { LiveFeed } from './live.ts'
import type { Topic } from './live-events.ts'

/** What may wait for a reader, in bytes, besides what the system's own buffers hold. */
const WAITING_BYTES = 256 * 1024

/** The feed as Server-Sent Events, until the client goes or the credential ends. Throws `quota_streams`. */
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
  const stream = new ReadableStream<Uint8Array>(
    {
      start: started => {
        controller = started
        // Some servers hold the head of an answer back until the first bytes of its body.
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
  // The client may have gone while its place was made.
  if (signal.aborted) close()
  return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } })
}
