import pino from 'pino'
import type { PluginLogger } from '../contract/plugin.ts'
import type { LogLevel, LogRecord, ToolCallRecord } from '../contract/records.ts'
import type { EventBus } from '../events/bus.ts'
import type { Redactor } from '../secrets/redact.ts'
import type { ServerRedactors } from '../secrets/server-redactors.ts'
import type { LogFileLimits } from './log-file.ts'
import { LogWriter } from './log-writer.ts'

/** Longest text of one field and of one line, in characters, before it is cut with a mark. */
const FIELD_LIMIT = 8 * 1024
const LINE_LIMIT = 32 * 1024

export interface LogOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly format: 'json' | 'pretty'
  /** Absolute path; absent: standard output. */
  readonly file?: string
  /** When the file is put aside for a new one, and how many are kept. Absent: it grows without end. */
  readonly fileLimits?: LogFileLimits
  /** Takes the keys of the hub out of every record, before it is cut, written or told. */
  readonly redactor: Pick<Redactor, 'text' | 'record'>
  /** Takes the secrets of a server out of the records whose `serverId` says that they are about it. */
  readonly servers: Pick<ServerRedactors, 'of'>
  readonly bus: EventBus
}

export type LogFields = Readonly<Record<string, unknown>>

/** The hub's log: one JSON record a line, in the specification's form. Nothing else in the hub writes to standard output. */
export class HubLog {
  readonly #pino: pino.Logger
  readonly #put: (line: string) => void
  readonly #writer: LogWriter
  readonly #bus: EventBus
  readonly #redactor: LogOptions['redactor']
  readonly #servers: LogOptions['servers']

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

  /** A logger whose records all carry these fields. `ownerId` says who may read them; it is not written. */
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

  /** The one record that a finished tools/call leaves. */
  call(record: ToolCallRecord): void {
    if (!this.#pino.isLevelEnabled('info')) return
    // Nothing of it is redacted: names say which call it was.
    const fields = {
      server: cut(record.server),
      tool: cut(record.tool),
      duration: Math.round(record.durationMs),
      status: record.status,
      requestId: record.requestId,
      userId: record.userId,
      group: cut(record.group),
    }
    const timestamp = new Date().toISOString()
    // As pino would, for a third of its time: with every call it was a tenth of what the main thread does.
    this.#put(`${JSON.stringify({ level: 'INFO', timestamp, ...fields, message: 'tools/call' })}\n`)
    this.#emit('INFO', 'tools/call', fields, record.ownerId)
  }

  /** Whether records wait for a log that cannot be written, or were lost and that is not told yet. */
  get failing(): boolean {
    return this.#writer.failing
  }

  /** Opens the log file anew, after it was moved away; one that cannot be opened is told in the old one. Never rejects. */
  async reopen(): Promise<void> {
    const failure = await this.#writer.reopen()
    if (failure !== undefined) this.with().warn('The log file cannot be opened anew', { error: failure })
  }

  /** Writes what waits, within a second, and closes the file. */
  end(): Promise<void> {
    return this.#writer.end()
  }

  #write(level: LogLevel, method: 'debug' | 'info' | 'warn' | 'error', message: string, fields: LogFields): void {
    if (!this.#pino.isLevelEnabled(method)) return
    const { ownerId, ...given } = fields
    // Before anything is cut: half a secret would not be known as one.
    const { serverId } = given
    const server = typeof serverId === 'string' ? this.#servers.of(serverId) : undefined
    const stacks = withStacks(given)
    const written = cutFields(this.#redactor.record(server ? server.record(stacks) : stacks))
    const text = cut(this.#redactor.text(server ? server.text(message) : message))
    this.#pino[method](written, text)
    if (level === 'ERROR') this.#writer.hurry()
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

/** Errors as the text that tells where they came from. */
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

/** C1 controls and the Unicode line ends are not escaped by JSON, yet terminals and log readers act on them. */
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
