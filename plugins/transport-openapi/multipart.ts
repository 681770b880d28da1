import { randomUUID } from 'node:crypto'

/** One field of a multipart body (RFC 7578). */
export interface Part {
  readonly name: string
  readonly content: string | Uint8Array
  readonly contentType?: string
  readonly filename?: string
}

/** The parts as one body, and the content type with its boundary. */
export function multipart(
  contentType: string,
  parts: readonly Part[],
): { readonly contentType: string; readonly content: Uint8Array } {
  const boundary = `patchbay-${randomUUID()}`
  const pieces = parts.flatMap(({ name, content, contentType: type, filename }) => {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`
    // In the usual spelling: some parsers accept these names in no other case.
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n${typed}\r\n`
    return [Buffer.from(head), typeof content === 'string' ? Buffer.from(content) : content, LINE_END]
  })
  const media = contentType.split(';')[0]?.trim() ?? 'multipart/form-data'
  return {
    contentType: `${media}; boundary=${boundary}`,
    content: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  }
}

const LINE_END = Buffer.from('\r\n')

/** As in browsers, characters that would end the name or its line are percent-encoded. */
function quoted(name: string): string {
  return name.replace(/["\r\n]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}
