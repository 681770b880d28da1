import { HubError, type PluginLogger, type UserActor } from 'patchbay/contract'
import type {
  Counted,
  DurationRow,
  LogBatch,
  LogStoreFeed,
  Measured,
  PendingRows,
  PluginThread,
  RecordPage,
  StoredRecords,
  TallyRow,
} from 'patchbay/features'
import { isAdmin } from 'patchbay/log-kit'
import { logError } from './errors.ts'
import { type HistoryFault, historyFault } from './fault.ts'
import type {
  HistoryAnswer,
  HistoryMessage,
  HistoryOptions,
  HistoryQuery,
  HistoryRequest,
  HistoryResult,
} from './protocol.ts'

/** Longest wait of a search for records that were logged before it, in milliseconds. */
const LET_IN_MS = 500
const ANSWER_SECONDS = 10
const CLOSE_MS = 3_000
const SEARCHES_PER_USER = 2
const SEARCHES = 20

/** Sources of the stored records and numbers. */
export interface HistorySources {
  readonly queue: Pick<LogStoreFeed, 'flush' | 'waiting' | 'fault'>
  readonly tally: PendingRows<TallyRow>
  readonly durations: PendingRows<DurationRow>
}

/** The thread in which the module `thread.ts` runs. */
export type Thread = PluginThread<HistoryMessage, HistoryAnswer>

/** The thread's answers, by the name of the member. */
interface Answers {
  readonly page: RecordPage
  readonly counted: Counted
  readonly measured: Measured
  readonly text: string
}

/** Main's half of the history thread. The thread starts with the first message and again after it was lost. */
export class History {
  readonly #options: HistoryOptions
  readonly #log: PluginLogger
  readonly #answerSeconds: number
  readonly #searching = new Map<string, number>()
  #searches = 0
  readonly #openThread: () => Thread
  #thread: Thread | undefined
  #sources: HistorySources | undefined
  /** Why the last counts or durations were not stored. */
  readonly #numberFaults = new Map<'tally' | 'durations', unknown>()
  #closed = false

  /** `answerSeconds`: time for an answer of the thread before it is ended; 1 or more, default 10. */
  constructor(options: HistoryOptions, log: PluginLogger, openThread: () => Thread, answerSeconds = ANSWER_SECONDS) {
    this.#options = options
    this.#openThread = openThread
    this.#log = log
    this.#answerSeconds = answerSeconds
  }

  /** Sets the sources. Searches wait for the queue, whose batches are passed to `write`; numbers come from the other sources. */
  reads(sources: HistorySources): void {
    this.#sources = sources
  }

  /** Why records or numbers are not stored now; undefined while they are. */
  get fault(): HistoryFault | undefined {
    const [error] = [this.#sources?.queue.fault, ...this.#numberFaults.values()].filter(each => each !== undefined)
    return error === undefined ? undefined : historyFault(error)
  }

  /** Stores a batch, and pauses `rest` times as long. Rejects if it is not stored. */
  async write({ bytes, ends, readers }: LogBatch, rest = 0): Promise<{ readonly rejected: number }> {
    // Copies are transferred, since a batch that was not stored is sent again. A copy made by `postMessage` itself
    // sometimes blocks the main thread for milliseconds, and a list of 2,000 texts always does.
    const own = { bytes: bytes.slice(), ends: ends.slice() }
    const request = { type: 'write', ...own, readers: readers.join('\n'), rest } as const
    const answer = await this.#ask(request, [own.bytes.buffer, own.ends.buffer])
    return { rejected: 'rejected' in answer ? answer.rejected : 0 }
  }

  /** The only access to stored records: an ordinary user finds those that it may read, an administrator all. */
  for(actor: UserActor): StoredRecords {
    const ask = async <A>(mine: boolean | undefined, question: (readers: HistoryQuery['readers']) => Promise<A>) => {
      this.#begin(actor.userId)
      try {
        return await question(isAdmin(actor) && mine !== true ? 'all' : [actor.userId])
      } finally {
        this.#end(actor.userId)
      }
    }
    return {
      search: ({ mine, ...query }) =>
        ask(mine, async readers => {
          await this.#letIn()
          const page = await this.#question({ type: 'search', query: { ...query, readers } }, 'page')
          return { ...page, behind: this.#sources?.queue.waiting ?? 0 }
        }),
      count: ({ mine, ...query }) =>
        ask(mine, async readers => {
          await this.storeNumbers()
          return this.#question({ type: 'count', query: { ...query, readers } }, 'counted')
        }),
      measure: ({ mine, ofOwner, ...query }) =>
        ask(mine, async own => {
          await this.storeNumbers()
          const readers: HistoryQuery['readers'] =
            ofOwner === undefined || query.serverId === undefined ? own : [ofOwner]
          return this.#question({ type: 'measure', query: { ...query, readers } }, 'measured')
        }),
      export: ({ mine, ...query }, format) =>
        ask(mine, async readers => {
          await this.storeNumbers()
          return this.#question({ type: 'export', query: { ...query, readers }, format }, 'text')
        }),
    }
  }

  /** Stores the numbers counted since the last call. Numbers that cannot be stored wait for the next call. */
  async storeNumbers(): Promise<void> {
    if (!this.#sources) return
    const { tally, durations } = this.#sources
    await Promise.all([this.#storePending('tally', tally), this.#storePending('durations', durations)])
  }

  async #storePending<R>(type: 'tally' | 'durations', pending: PendingRows<R>): Promise<void> {
    const rows = pending.take()
    if (rows.length === 0) return
    try {
      await this.#ask({ type, rows } as HistoryRequest)
      this.#numberFaults.delete(type)
    } catch (error) {
      this.#numberFaults.set(type, error)
      pending.putBack(rows)
    }
  }

  /** Stores what waits without a rest from now on. */
  hurry(): void {
    if (this.#thread) void this.#ask({ type: 'hurry' }).catch(() => undefined)
  }

  /** Closes the files and ends the thread. */
  async close(): Promise<void> {
    const thread = this.#thread
    this.#closed = true
    if (!thread) return
    await this.#send(thread, { type: 'close' }, [], CLOSE_MS).catch(() => undefined)
    thread.end()
  }

  /** Ends the thread at once; the next message starts another. */
  end(): void {
    this.#thread?.end()
    this.#thread = undefined
  }

  async #letIn(): Promise<void> {
    const queue = this.#sources?.queue
    if (!queue || queue.waiting === 0) return
    this.hurry()
    await queue.flush(LET_IN_MS)
  }

  #begin(userId: string): void {
    const own = this.#searching.get(userId) ?? 0
    if (own >= SEARCHES_PER_USER || this.#searches >= SEARCHES) {
      throw new HubError('rate_limited', `Cannot search: ${own} searches of yours are under way`, {
        retryAfterSeconds: 1,
      })
    }
    this.#searching.set(userId, own + 1)
    this.#searches += 1
  }

  #end(userId: string): void {
    const left = (this.#searching.get(userId) ?? 1) - 1
    if (left === 0) this.#searching.delete(userId)
    else this.#searching.set(userId, left)
    this.#searches -= 1
  }

  /** Returns the answer's member of this name. Throws `history_unavailable`. */
  async #question<K extends keyof Answers>(request: HistoryRequest, name: K): Promise<Answers[K]> {
    const answer = (await this.#ask(request).catch(unavailable)) as Partial<Answers>
    const value = answer[name]
    if (value === undefined) throw new TypeError(`The history thread answered ${request.type} with something else`)
    return value
  }

  #ask(request: HistoryRequest, handedOver: readonly ArrayBuffer[] = []): Promise<HistoryResult> {
    if (this.#closed) return Promise.reject(new Error('The history is closed'))
    this.#thread ??= this.#openThread()
    // A thread that does not answer is ended: its files are as they were at the last commit.
    return this.#send(this.#thread, request, handedOver, this.#answerSeconds * 1_000)
  }

  async #send(
    thread: Thread,
    request: HistoryRequest,
    handedOver: readonly ArrayBuffer[],
    withinMs: number,
  ): Promise<HistoryResult> {
    const { notes = [], ...answer } = await thread.request({ options: this.#options, request }, withinMs, handedOver)
    for (const note of notes) this.#log.warn(note)
    if ('failure' in answer) throw Object.assign(new Error(answer.failure), { code: answer.code })
    return answer
  }
}

function unavailable(error: unknown): never {
  throw logError('history_unavailable', `The history cannot be searched now: ${historyFault(error).message}`, {
    cause: error,
  })
}
