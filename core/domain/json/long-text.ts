/** Longer JSON texts cross threads, and go to clients, as UTF-8; in characters. */
export const LONG_CHARACTERS = 64 * 1024

/** A long JSON text as UTF-8, in parts. Written to a client as it is, never decoded on that way. */
export class LongText {
  readonly parts: readonly Uint8Array<ArrayBuffer>[]
  readonly byteLength: number

  constructor(parts: readonly Uint8Array<ArrayBuffer>[]) {
    this.parts = parts
    this.byteLength = parts.reduce((sum, part) => sum + part.byteLength, 0)
  }

  /** The same with short texts before and behind it; its bytes are shared. */
  within(head: string, tail: string): LongText {
    return new LongText([Buffer.from(head), ...this.parts, Buffer.from(tail)])
  }

  /** Whether the ASCII text is in one of the parts. */
  includes(text: string): boolean {
    return this.parts.some(part => asBuffer(part).includes(text))
  }

  /** Decodes all of it, which takes milliseconds. */
  toString(): string {
    const [only] = this.parts
    return only && this.parts.length === 1 ? asBuffer(only).toString() : Buffer.concat(this.parts).toString()
  }
}

/** JSON text of any length. */
export type JsonText = string | LongText

/** Its bytes, or of a short one its characters. */
export function weightOfText(text: JsonText): number {
  return typeof text === 'string' ? text.length : text.byteLength
}

/** The text within others. */
export function textWithin(head: string, text: JsonText, tail: string): JsonText {
  return typeof text === 'string' ? `${head}${text}${tail}` : text.within(head, tail)
}

/** The texts of a JSON array as its text. */
export function arrayText(texts: readonly JsonText[]): JsonText {
  if (texts.every(text => typeof text === 'string')) return `[${texts.join(',')}]`
  const parts = texts.flatMap((text, at) => [Buffer.from(at === 0 ? '[' : ','), ...partsOf(text)])
  return new LongText([...parts, Buffer.from(']')])
}

/** The UTF-8 of a text. */
export function partsOf(text: JsonText): readonly Uint8Array<ArrayBuffer>[] {
  return typeof text === 'string' ? [Buffer.from(text)] : text.parts
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
