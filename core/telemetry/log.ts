import type { PluginLogger } from '../contract/plugin.ts'
import { cutShort } from '../domain/cut-short.ts'
import { visibleText } from '../domain/text/visible-text.ts'
import { TimeTexts } from '../domain/timestamp.ts'
import type { EventBus } from '../events/bus.ts'
import type { LogLevel, LogRecord } from '../features/log-records.ts'
import type { TallyKey } from '../features/log-store.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'
import { CALLS, CallLog } from './call-log.ts'
import type { EndedCall } from './calls/ended-call.ts'
import { type CallFields, FoldedCalls } from './folding/folded-calls.ts'
import { LogLevels } from './levels.ts'
import { LogFeed, type SinkState } from './log-feed.ts'
import type { RotationOptions } from './log-rotation.ts'
import { LogWriter } from './log-writer.ts'
import { cut, fieldOf, type LogFields, RecordFields } from './record-fields.ts'
import { prettyLine, RecordLine } from './record-line.ts'

const NO_FIELDS: LogFields = Object.freeze({})
/** Format of lines. */
interface Form {
  isPretty: boolean
}

/** Count key of records that are not calls. */
const NO_CALL: TallyKey = {
  level: 'INFO',
  isCall: false,
  failed: false,
  owner: '',
  caller: '',
  serverId: '',
  server: '',
  tool: '',
  code: '',
}
/** Longest text of an error in the record of a call, in UTF-16 code units. */
const ERROR_CHARACTERS = 500

/** Format, destination and redaction of the log. */
export interface LogOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly format: 'json' | 'pretty'
  /** Absolute path; absent: standard output. */
  readonly file?: string
  /** Absent: the file grows without limit. */
  readonly rotation?: RotationOptions
  /** Redacts the hub's keys in every record, before truncation, writing and events. */
  readonly redactor: Pick<Redactor, 'text' | 'member'>
  /** Redacts a server's secrets in records with its `serverId`. */
  readonly servers: Pick<ServerRedactors, 'of'>
  readonly bus: EventBus
}

/** Fields that identify a caller; the live record hides them from the owner of the called server. */
const OF_THE_CALLER = Object.freeze({
  ...{ client: undefined, clientName: undefined, clientVersion: undefined, keyId: undefined, keyLabel: undefined },
})

/**
 * The hub's log: one JSON record per line, in the specified format, and the same records for the sinks of `feed`. Nothing
 * else in the hub writes to standard output.
 */
export class HubLog {
  /** Changed by administrators while the hub runs. */
  readonly levels: LogLevels
  readonly feed = new LogFeed()
  readonly #writer: LogWriter
  readonly #form: Form
  readonly #bus: EventBus
  readonly #redactor: LogOptions['redactor']
  readonly #servers: LogOptions['servers']
  readonly #fields: RecordFields
  readonly #times = new TimeTexts()
  /** Absent while a line is handed on. */
  #line: RecordLine | undefined = new RecordLine()
  /** Reused key of the last record that is not a call: a new object for each would be garbage. */
  readonly #kind: { -readonly [Key in keyof TallyKey]: TallyKey[Key] } = { ...NO_CALL }
  #counted: readonly ((key: TallyKey) => void)[] = []
  readonly #folded = new FoldedCalls((...call) => this.#callLine(...call))
  readonly #calls: CallLog
  #written: ((level: LogLevel) => void) | undefined

  private constructor(writer: LogWriter, form: Form, { level, bus, redactor, servers }: LogOptions) {
    this.levels = new LogLevels(level)
    this.#writer = writer
    this.#form = form
    this.#bus = bus
    this.#redactor = redactor
    this.#fields = new RecordFields(redactor)
    this.#servers = servers
    this.#calls = new CallLog({
      levels: this.levels,
      redactor,
      tally: key => this.#tally(key),
      write: (...call) => this.#folded.add(...call),
    })
  }

  /** Throws the error of the file system when the file cannot be opened. */
  static async open(options: LogOptions): Promise<HubLog> {
    const form: Form = { isPretty: options.format === 'pretty' }
    const writer = await LogWriter.open({
      ...(options.file ? { file: options.file } : {}),
      ...(options.rotation ? { rotation: options.rotation } : {}),
      lost: lostLine,
      render: line => (form.isPretty ? prettyLine(String(line)) : line),
      notRotated: error => log.with({ component: 'sink:file' }).warn('The log file cannot be rotated', { error }),
    })
    const log: HubLog = new HubLog(writer, form, options)
    return log
  }

  /** Applies settings that become known after the first record was written. The file does not change. */
  configure({ level, format, rotation }: Pick<LogOptions, 'level' | 'format' | 'rotation'>): void {
    this.levels.setDefault(level)
    this.#form.isPretty = format === 'pretty'
    if (rotation) this.#writer.rotateBy(rotation)
  }

  /**
   * A logger that adds these fields to all its records. `component` names the part of the hub whose level applies.
   * `ownerId` is the user who may read them besides administrators; it is not written.
   */
  with(fields: LogFields = {}): PluginLogger {
    const component = typeof fields.component === 'string' ? fields.component : undefined
    const at = (level: LogLevel) => (message: string, more?: LogFields) => {
      const serverId = more?.serverId ?? fields.serverId
      if (!this.levels.allows(level, component, typeof serverId === 'string' ? serverId : undefined)) return
      // A plugin without types may give null.
      this.#write(level, message, fields, more ?? NO_FIELDS, component)
    }
    return {
      debug: at('DEBUG'),
      info: at('INFO'),
      warn: at('WARN'),
      error: at('ERROR'),
    }
  }

  /** Calls `written` for each record that is written. */
  onRecord(written: (level: LogLevel) => void): void {
    this.#written = written
  }

  /**
   * Calls `counted` for each record, and for each call even if its level is not logged. The key object is reused for the next
   * record: a listener that keeps it must copy it. Returns a function that ends the subscription.
   */
  onCounted(counted: (key: TallyKey) => void): () => void {
    this.#counted = [...this.#counted, counted]
    return () => {
      this.#counted = this.#counted.filter(each => each !== counted)
    }
  }

  /** Logs one tools/call that ended. The caller and the owner of its server may read it; see {@link CallLog}. */
  call(record: EndedCall): void {
    this.#calls.add(record)
  }

  /** The call with the text of its error as it may be read: secrets of its server are redacted, hidden characters are shown, and it is cut. */
  readable(record: EndedCall): EndedCall {
    const { error, serverId, calledServer } = record
    if (error === undefined) return record
    const known = serverId === '' ? calledServer?.id : serverId
    const server = known === undefined ? undefined : this.#servers.of(known)
    // Redacted before it is cut: half a secret would not be recognised.
    const text = this.#redactor.text(server ? server.text(error) : error)
    return { ...record, error: cutShort(visibleText(text), ERROR_CHARACTERS) }
  }

  /** Destinations of records, with the numbers of lost ones; the log file or standard output is first. */
  sinks(): readonly SinkState[] {
    return [{ id: 'file', ...this.#writer.state() }, ...this.feed.list()].map(sink =>
      sink.reason ? { ...sink, reason: { ...sink.reason, message: this.#redactor.text(sink.reason.message) } } : sink,
    )
  }

  /** True when records wait because the log cannot be written, or were lost without a line about it yet. */
  get failing(): boolean {
    return this.#writer.failing
  }

  /** Reopens the log file after it was moved away; a failure is logged to the old one. Never rejects. */
  async reopen(): Promise<void> {
    const failure = await this.#writer.reopen()
    if (failure !== undefined) this.with().warn('The log file cannot be reopened', { error: failure })
  }

  /** Writes queued records, within a second, and closes the file. */
  end(): Promise<void> {
    this.#folded.flush()
    return this.#writer.end()
  }

  #callLine(level: LogLevel, fields: CallFields, readers: string, ownerId: string): void {
    const timestamp = this.#times.of(Date.now())
    this.#written?.(level)
    const line = this.#begin(level, timestamp)
    for (const name in fields) line.member(name, fields[name])
    this.#hand(line, 'tools/call', readers, CALLS, fields.userId)
    if (!this.#bus.wants('log.record')) return
    const withheld = fields.userId === ownerId ? {} : OF_THE_CALLER
    this.#emit(level, 'tools/call', { ...fields, ...withheld }, ownerId, timestamp)
  }

  #tally(key: TallyKey): void {
    for (const counted of this.#counted) counted(key)
  }

  /**
   * Takes the reusable line until it is handed on: a sink may log while it receives one, and so may a field while it is
   * serialized.
   */
  #begin(level: LogLevel, timestamp: string): RecordLine {
    const line = this.#line ?? new RecordLine()
    this.#line = undefined
    line.begin(level, timestamp)
    return line
  }

  /** `holder`: owner of the share of the queues that the record uses. */
  #hand(line: RecordLine, message: string, readers: string, component: string | undefined, holder: string): void {
    line.end(message)
    this.#writer.write(line, holder)
    this.feed.push(line, readers, component, holder)
    this.#line = line
  }

  #write(level: LogLevel, message: string, logger: LogFields, record: LogFields, component: string | undefined): void {
    // Redacted before truncation: half a secret would not be recognised.
    const serverId = fieldOf(logger, record, 'serverId')
    const server = typeof serverId === 'string' ? this.#servers.of(serverId) : undefined
    const text = cut(this.#redactor.text(server ? server.text(message) : message))
    const timestamp = this.#times.of(Date.now())
    const ownerId = fieldOf(logger, record, 'ownerId')
    const owner = typeof ownerId === 'string' ? ownerId : null
    // Without a prototype, which a field `__proto__` would replace.
    const copy = this.#bus.wants('log.record') ? (Object.create(null) as Record<string, unknown>) : undefined
    const line = this.#begin(level, timestamp)
    this.#fields.write(logger, record, line, copy, server)
    this.#hand(line, text, owner ?? '', component, owner ?? component ?? '')
    this.#written?.(level)
    const failed = level === 'ERROR'
    const kind = this.#kind
    kind.level = level
    kind.failed = failed
    kind.owner = owner ?? ''
    kind.serverId = textOf(serverId)
    kind.server = textOf(fieldOf(logger, record, 'server'))
    kind.code = failed ? textOf(fieldOf(logger, record, 'code')) : ''
    this.#tally(kind)
    if (failed) this.#writer.flushNow()
    if (copy) this.#emit(level, text, copy, owner, timestamp)
  }

  /** `timestamp`: that of the line, by which a reader of the live log matches the record with those that a search finds. */
  #emit(
    level: LogLevel,
    message: string,
    fields: Record<string, unknown>,
    ownerId: string | null,
    timestamp: string,
  ): void {
    const record: LogRecord = { timestamp, level, message, ...fields }
    this.#bus.emit('log.record', ownerId, record)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function lostLine(count: number): string {
  const message = `${count} records of the log were lost: it was not read, or could not be written`
  return `${JSON.stringify({ level: 'WARN', timestamp: new Date().toISOString(), message })}\n`
}
