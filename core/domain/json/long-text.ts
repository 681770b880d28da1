/** Longer JSON texts are passed between threads and sent to clients as UTF-8; in characters. */
export const LONG_CHARACTERS = 64 * 1024

/** A long JSON text as UTF-8 in parts, written to a client without being decoded. */
export class LongText {
  readonly parts: readonly Uint8Array<ArrayBuffer>[]
  readonly byteLength: number

  constructor(parts: readonly Uint8Array<ArrayBuffer>[]) {
    this.parts = parts
    this.byteLength = parts.reduce((sum, part) => sum + part.byteLength, 0)
  }

  /** The same text between two short ones; its bytes are shared. */
  within(head: string, tail: string): LongText {
    return new LongText([Buffer.from(head), ...this.parts, Buffer.from(tail)])
  }

  /** True when one of the parts contains the ASCII text. */
  includes(text: string): boolean {
    return this.parts.some(part => asBuffer(part).includes(text))
  }

  /** Decodes the whole text, which takes milliseconds. */
  toString(): string {
    const [only] = this.parts
    return only && this.parts.length === 1 ? asBuffer(only).toString() : Buffer.concat(this.parts).toString()
  }
}

/** JSON text of any length. */
export type JsonText = string | LongText

/** Bytes of a long text, characters of a short one. */
export function weightOfText(text: JsonText): number {
  return typeof text === 'string' ? text.length : text.byteLength
}

/** Bytes up to which parts share their memory with others. */
export const SHARED_BYTES = 64 * 1024

/**
 * Frees the memory of a text that is no longer used at once. The garbage collector would find it hundreds of megabytes later,
 * and then pause the thread.
 */
export function freeText(text: JsonText): void {
  if (typeof text !== 'string') for (const part of text.parts) freePart(part)
}

/** The same for one part. */
export function freePart({ buffer, byteLength }: Uint8Array<ArrayBuffer>): void {
  if (byteLength > SHARED_BYTES) buffer.transfer(0)
}

/** The text between two others. */
export function textWithin(head: string, text: JsonText, tail: string): JsonText {
  return typeof text === 'string' ? `${head}${text}${tail}` : text.within(head, tail)
}

/** Joins JSON texts to a JSON array. */
export function arrayText(texts: readonly JsonText[]): JsonText {
  if (texts.every(text => typeof text === 'string')) return `[${texts.join(',')}]`
  const parts = texts.flatMap((text, at) => [Buffer.from(at === 0 ? '[' : ','), ...partsOf(text)])
  return new LongText([...parts, Buffer.from(']')])
}

/** The text as UTF-8. */
export function partsOf(text: JsonText): readonly Uint8Array<ArrayBuffer>[] {
  return typeof text === 'string' ? [Buffer.from(text)] : text.parts
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
