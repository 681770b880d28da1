import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import type { PluginLogger } from 'patchbay/contract'
import type { SpanCounts } from 'patchbay/features'
import { SharedQueue } from 'patchbay/transport-kit'

/** Spans that wait to be sent; with more of them the user with the most loses its oldest, and they are counted. */
const MOST_WAITING = 2_048
const MOST_IN_BATCH = 512
const DELAY_MS = 2_000

/** Sends spans, and resolves with the number of those that the collector left out; rejects when none was taken. */
export type SendSpans = (spans: ReadableSpan[]) => Promise<number>

/**
 * Queue of ended spans for the collector, with a share for each user. The SDK's own queue silently drops the newest spans of any
 * user. One batch is sent at a time.
 */
export class SpanQueue implements SpanProcessor {
  readonly #post: SendSpans
  readonly #log: PluginLogger
  readonly #waiting = new SharedQueue<ReadableSpan>(
    { maxCount: MOST_WAITING, maxBytes: Number.POSITIVE_INFINITY },
    () => {
      this.#dropped += 1
    },
  )
  /** By span: the caller's id. */
  readonly #callers = new WeakMap<object, string>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #sending: Promise<void> | undefined
  #sent = 0
  #failed = 0
  #dropped = 0
  #isFailing = false

  constructor(post: SendSpans, log: PluginLogger) {
    this.#post = post
    this.#log = log
  }

  counts(): SpanCounts {
    return { sent: this.#sent, failed: this.#failed, dropped: this.#dropped }
  }

  /** Records the user whose share a span uses. */
  holds(span: object, callerId: string): void {
    this.#callers.set(span, callerId)
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    this.#waiting.add(this.#callers.get(span) ?? '', span, 1)
    if (this.#waiting.count >= MOST_IN_BATCH) void this.#send()
    else this.#timer ??= setTimeout(() => void this.#send(), DELAY_MS)
  }

  /** Resolves when what waits now was sent, or has failed. Never rejects. */
  async forceFlush(): Promise<void> {
    await this.#send()
    if (this.#waiting.count > 0) await this.#send()
  }

  async shutdown(): Promise<void> {
    await this.forceFlush()
  }

  #send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
      if (this.#waiting.count > 0) this.#timer ??= setTimeout(() => void this.#send(), DELAY_MS)
    })
    return this.#sending
  }

  /** Sends the spans that wait now; new ones wait in the queue meanwhile. */
  async #sendAll(): Promise<void> {
    const spans = [...this.#waiting.items()]
    this.#waiting.clear()
    for (let at = 0; at < spans.length; at += MOST_IN_BATCH) await this.#export(spans.slice(at, at + MOST_IN_BATCH))
  }

  async #export(spans: ReadableSpan[]): Promise<void> {
    try {
      const rejected = await this.#post(spans)
      this.#sent += spans.length - rejected
      this.#failed += rejected
      this.#report(false)
    } catch (error) {
      this.#failed += spans.length
      this.#report(true, error)
    }
  }

  #report(isFailing: boolean, error?: unknown): void {
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    if (isFailing) this.#log.warn('Traces cannot be sent', { error: String(error) })
    else this.#log.info('Traces are sent again')
  }
}
