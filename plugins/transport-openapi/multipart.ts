import { randomUUID } from 'node:crypto'

/** One field of a multipart body (RFC 7578). */
export interface Part {
  readonly name: string
  readonly content: string | Uint8Array
  readonly contentType?: string
  readonly filename?: string
}

/** The parts as one body, and the content type that names what stands between them. */
export function multipart(
  contentType: string,
  parts: readonly Part[],
): { readonly contentType: string; readonly content: Uint8Array } {
  const boundary = `patchbay-${randomUUID()}`
  const pieces = parts.flatMap(({ name, content, contentType: type, filename }) => {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`
    // In the usual letters: readers exist that know these names in no other.
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

/** As browsers write it: what would end the name or its line is percent-encoded. */
function quoted(name: string): string {
  return name.replace(/["\r\n]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)
}
