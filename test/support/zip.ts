import { Buffer } from 'node:buffer'
import { crc32, deflateRawSync } from 'node:zlib'

/** One entry of a zip, which need not be a sensible one. */
export interface ZipEntry {
  readonly name: string | Buffer
  readonly content?: string | Buffer
  /** Unix mode with its type. Default a regular file, 0644. */
  readonly mode?: number
  /** General purpose bits. Default UTF-8 names. */
  readonly flags?: number
  readonly method?: number
  /** Inflated size that the archive states; default: the true one. */
  readonly saysBytes?: number
  /** Checksum that the archive states; default: the true one. */
  readonly saysCrc?: number
  /** Takes the bytes of the first entry instead of own ones. */
  readonly overlaps?: boolean
}

/** Writes a zip with just these entries, for readers that must refuse some of them. */
export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let offset = 0
  let first: { readonly at: number; readonly packed: Buffer; readonly crc: number; readonly bytes: number } | undefined
  for (const {
    name: given,
    content = '',
    mode = 0o100644,
    flags = 0x800,
    method = 8,
    saysBytes,
    saysCrc,
    overlaps,
  } of entries) {
    const name = Buffer.from(given as string)
    const raw = Buffer.from(content as string)
    const own = { at: offset, packed: method === 8 ? deflateRawSync(raw) : raw, crc: crc32(raw), bytes: raw.length }
    const { at, packed, crc, bytes } = overlaps && first ? first : own
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(flags, 2)
    common.writeUInt16LE(method, 4)
    common.writeUInt32LE(saysCrc ?? crc, 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(saysBytes ?? bytes, 18)
    common.writeUInt16LE(name.length, 22)
    if (!overlaps) {
      const piece = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed])
      local.push(piece)
      offset += piece.length
      first ??= own
    }
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE((mode << 16) >>> 0, 6)
    rest.writeUInt32LE(at, 10)
    const madeBy = Buffer.from([20, 3])
    central.push(Buffer.from('PK\x01\x02', 'latin1'), madeBy, common, rest, name)
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 8)
  end.writeUInt16LE(Math.min(entries.length, 0xffff), 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...local, directory, end])
}
