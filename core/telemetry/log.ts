import pino from 'pino'
import type { PluginLogger } from '../contract/plugin.ts'
import type { LogLevel, LogRecord, ToolCallRecord } from '../contract/records.ts'
import { TimeTexts } from '../domain/timestamp.ts'
import type { EventBus } from '../events/bus.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'
import type { LogFileLimits } from './log-file.ts'
import { LogWriter } from './log-writer.ts'

/** Longest text of one field, and of one line, in characters; longer ones are truncated with a mark. */
const FIELD_LIMIT = 8 * 1024
const LINE_LIMIT = 32 * 1024

/** Format, destination and redaction of the log. */
export interface LogOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly format: 'json' | 'pretty'
  /** Absolute path; absent: standard output. */
  readonly file?: string
  /** When the file is rotated, and how many are kept. Absent: it grows without limit. */
  readonly fileLimits?: LogFileLimits
  /** Redacts the hub's keys in every record, before truncation, writing and events. */
  readonly redactor: Pick<Redactor, 'text' | 'record'>
  /** Redacts a server's secrets in records with its `serverId`. */
  readonly servers: Pick<ServerRedactors, 'of'>
  readonly bus: EventBus
}

/** Further members of a log record; secrets in them are redacted. */
export type LogFields = Readonly<Record<string, unknown>>

/** The hub's log: one JSON record per line, in the specified format. Nothing else in the hub writes to standard output. */
export class HubLog {
  readonly #pino: pino.Logger
  readonly #put: (line: string) => void
  readonly #writer: LogWriter
  readonly #bus: EventBus
  readonly #redactor: LogOptions['redactor']
  readonly #servers: LogOptions['servers']
  readonly #times = new TimeTexts()

  private constructor(
    logger: pino.Logger,
    put: (line: string) => void,
    writer: LogWriter,
    { bus, redactor, servers }: LogOptions,
  ) {
    this.#pino = logger
    this.#put = put
    this.#writer = writer
    this.#bus = bus
    this.#redactor = redactor
    this.#servers = servers
  }

  /** Throws the error of the file system when the file cannot be opened. */
  static async open(options: LogOptions): Promise<HubLog> {
    const render = options.format === 'pretty' ? pretty : (line: string) => line
    const writer = await LogWriter.open({
      ...(options.file ? { file: options.file } : {}),
      ...(options.fileLimits ? { limits: options.fileLimits } : {}),
      lost: count => render(lostLine(count)),
    })
    const put = (line: string): void => writer.write(escapeControls(render(cutLine(line))))
    const logger = pino(
      {
        level: options.level,
        base: null,
        messageKey: 'message',
        timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
        formatters: { level: label => ({ level: label.toUpperCase() }) },
      },
      { write: put },
    )
    return new HubLog(logger, put, writer, options)
  }

  /** A logger that adds these fields to all its records. `ownerId` sets who may read them; it is not written. */
  with(fields: LogFields = {}): PluginLogger {
    const at = (level: LogLevel, method: 'debug' | 'info' | 'warn' | 'error') => (message: string, more?: LogFields) =>
      this.#write(level, method, message, { ...fields, ...more })
    return {
      debug: at('DEBUG', 'debug'),
      info: at('INFO', 'info'),
      warn: at('WARN', 'warn'),
      error: at('ERROR', 'error'),
    }
  }

  /** Logs one finished tools/call. */
  call(record: ToolCallRecord): void {
    if (!this.#pino.isLevelEnabled('info')) return
    // Nothing is redacted: the names identify the call.
    const fields = {
      server: cut(record.server),
      tool: cut(record.tool),
      duration: Math.round(record.durationMs),
      status: record.status,
      requestId: record.requestId,
      userId: record.userId,
      group: cut(record.group),
    }
    const timestamp = this.#times.of(Date.now())
    // Same output as pino in a third of its time: with every call, pino took a tenth of the main thread's time.
    this.#put(
      `{"level":"INFO","timestamp":"${timestamp}",${JSON.stringify(fields).slice(1, -1)},"message":"tools/call"}\n`,
    )
    this.#emit('INFO', 'tools/call', fields, record.ownerId)
  }

  /** Whether records wait for a log that cannot be written, or were lost without a line about it yet. */
  get failing(): boolean {
    return this.#writer.failing
  }

  /** Reopens the log file after it was moved away; a failure is logged to the old one. Never rejects. */
  async reopen(): Promise<void> {
    const failure = await this.#writer.reopen()
    if (failure !== undefined) this.with().warn('The log file cannot be opened anew', { error: failure })
  }

  /** Writes queued records, within a second, and closes the file. */
  end(): Promise<void> {
    return this.#writer.end()
  }

  #write(level: LogLevel, method: 'debug' | 'info' | 'warn' | 'error', message: string, fields: LogFields): void {
    if (!this.#pino.isLevelEnabled(method)) return
    const { ownerId, ...given } = fields
    // Redacted before truncation: half a secret would not be recognised.
    const { serverId } = given
    const server = typeof serverId === 'string' ? this.#servers.of(serverId) : undefined
    const stacks = withStacks(given)
    const written = cutFields(this.#redactor.record(server ? server.record(stacks) : stacks))
    const text = cut(this.#redactor.text(server ? server.text(message) : message))
    this.#pino[method](written, text)
    if (level === 'ERROR') this.#writer.flushNow()
    this.#emit(level, text, written, typeof ownerId === 'string' ? ownerId : null)
  }

  #emit(level: LogLevel, message: string, fields: Record<string, unknown>, ownerId: string | null): void {
    if (!this.#bus.wants('log.record')) return
    const record: LogRecord = { timestamp: new Date().toISOString(), level, message, ...fields }
    this.#bus.emit('log.record', ownerId, record)
  }
}

function lostLine(count: number): string {
  const message = `${count} records of the log were lost: it was not read, or could not be written`
  return `${JSON.stringify({ level: 'WARN', timestamp: new Date().toISOString(), message })}\n`
}

function cut(text: string): string {
  return text.length <= FIELD_LIMIT
    ? text
    : `${text.slice(0, FIELD_LIMIT)}… (${text.length - FIELD_LIMIT} more characters)`
}

/** Replaces errors with their stack traces. */
function withStacks(fields: LogFields): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const key in fields) {
    const value = fields[key]
    kept[key] = value instanceof Error ? (value.stack ?? value.message) : value
  }
  return kept
}

function cutFields(fields: LogFields): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value === undefined) continue
    kept[key] = typeof value === 'string' ? cut(value) : value
  }
  return kept
}

function cutLine(line: string): string {
  if (line.length <= LINE_LIMIT) return line
  const { level, timestamp, message } = JSON.parse(line) as Record<string, unknown>
  return `${JSON.stringify({ level, timestamp, message, cut: `the record had ${line.length} characters` })}\n`
}

/** JSON does not escape C1 controls and Unicode line ends, but terminals and log readers act on them. */
function escapeControls(line: string): string {
  return line.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function pretty(line: string): string {
  const { level, timestamp, message, ...rest } = JSON.parse(line) as Record<string, unknown>
  const fields = Object.entries(rest).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  return `${String(timestamp).slice(11, 23)} ${String(level).padEnd(5)} ${JSON.stringify(message).slice(1, -1)}${fields.length > 0 ? `  ${fields.join(' ')}` : ''}\n`
}
