import type { LogRecord } from 'patchbay/features'

/** ERROR, WARN, INFO, DEBUG and TRACE as severities of RFC 5424. */
const SEVERITIES: Readonly<Record<LogRecord['level'], number>> = { ERROR: 3, WARN: 4, INFO: 6, DEBUG: 7, TRACE: 7 }
/** 32473 is the enterprise number for examples (RFC 5612): Patchbay has none of its own. */
const SD_ID = 'patchbay@32473'
/** Members of a record that are parts of the message already. */
const NOT_IN_DATA: ReadonlySet<string> = new Set(['timestamp', 'level', 'message', 'component'])
const MOST_VALUE_CHARACTERS = 256
/** Bytes of all structured data together: collectors must accept 2,048 bytes, some of which are for the text. */
const MOST_DATA_BYTES = 1_200

/** Sender of the messages. */
export interface Sender {
  /** 0 to 23. */
  readonly facility: number
  readonly host: string
  readonly processId: number
}

/** One record as a message of RFC 5424, without a byte order mark, which collectors keep as text. */
export function syslogMessage(record: LogRecord, { facility, host, processId }: Sender): Buffer {
  const priority = facility * 8 + (SEVERITIES[record.level] ?? SEVERITIES.INFO)
  const header = `<${priority}>1 ${record.timestamp} ${printable(host, 255)} patchbay ${processId}`
  return Buffer.from(`${header} ${printable(record.component ?? '', 32)} ${dataOf(record)} ${oneLine(record.message)}`)
}

/** The first bytes of a message, at most `most`, without a part of a character at the end. */
export function cutBytes(message: Buffer, most: number): Buffer {
  if (message.length <= most) return message
  let end = most
  // Bytes that begin with the bits 10 continue a character.
  while (end > 0 && ((message[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return message.subarray(0, end)
}

/** Visible ASCII characters, or a dash if there are none. */
function printable(text: string, most: number): string {
  return text.replaceAll(/[^\x21-\x7e]/g, '_').slice(0, most) || '-'
}

function dataOf(record: LogRecord): string {
  let data = ''
  for (const [name, value] of Object.entries(record)) {
    if (NOT_IN_DATA.has(name) || value === undefined || value === null) continue
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const cut = oneLine(text).slice(0, MOST_VALUE_CHARACTERS).toWellFormed()
    const parameter = ` ${nameOf(name)}="${cut.replaceAll(/["\\\]]/g, '\\$&')}"`
    if (Buffer.byteLength(data) + Buffer.byteLength(parameter) > MOST_DATA_BYTES) continue
    data += parameter
  }
  return data === '' ? '-' : `[${SD_ID}${data}]`
}

/** A collector that splits at line ends would take what follows for a message of its own (RFC 5424, section 8.2). */
function oneLine(text: string): string {
  return text
    .replaceAll('\n', '\\n')
    .replaceAll('\t', ' ')
    .replaceAll(/\p{Cc}/gu, '?')
}

/** A name holds no blank, `=`, `]` or `"`, and at most 32 characters. */
function nameOf(name: string): string {
  return name.replaceAll(/[^\x21-\x7e]|[=\]"]/g, '_').slice(0, 32) || '_'
}
