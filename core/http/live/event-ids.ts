import { Buffer } from 'node:buffer'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const BLOCK_BYTES = 16
const NUMBER_BYTES = 6

/**
 * Ids of the events of one process. An id is one encrypted block. It does not reveal the number of earlier events, which would
 * count the activity of all users, and ids of another process are recognized.
 */
export class EventIds {
  readonly #key = randomBytes(BLOCK_BYTES)

  /** The id of the event with this number, an integer below 2^48. */
  idOf(number: number): string {
    const block = Buffer.alloc(BLOCK_BYTES)
    block.writeUIntBE(number, BLOCK_BYTES - NUMBER_BYTES, NUMBER_BYTES)
    // Each block is encrypted once and alone, so that no chaining is needed.
    const cipher = createCipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    return Buffer.concat([cipher.update(block), cipher.final()]).toString('hex')
  }

  /** The number of an id; undefined for a text that is not an id of this process. */
  numberOf(id: string): number | undefined {
    if (!/^[0-9a-f]{32}$/.test(id)) return undefined
    const decipher = createDecipheriv('aes-128-ecb', this.#key, null).setAutoPadding(false)
    const block = Buffer.concat([decipher.update(id, 'hex'), decipher.final()])
    const head = block.subarray(0, BLOCK_BYTES - NUMBER_BYTES)
    return head.every(byte => byte === 0) ? block.readUIntBE(head.length, NUMBER_BYTES) : undefined
  }
}
