import { createSocket } from 'node:dgram'

const A = 1
const AAAA = 28
const NO_SUCH_NAME = 3

/** A name server of a test; each answer counts for this one question (a lifetime of 0 s). */
export interface NameServer extends AsyncDisposable {
  readonly address: string
  /** Requested names, each once (A, then AAAA). */
  readonly asked: string[]
  /** A program, for `HubOptions.wrap`, that makes a program use only this name server. Needs root. */
  readonly wrap: readonly string[]
}

/**
 * `answer` returns the IPv4 and IPv6 addresses of a name; undefined: there is no such name; `silence`: no answer is sent. Port
 * 53, so it needs root.
 */
export async function startNameServer(
  folder: string,
  answer: (name: string) => readonly string[] | 'silence' | undefined,
): Promise<NameServer> {
  const address = '127.0.0.77'
  const asked: string[] = []
  const socket = createSocket('udp4')
  /** The answer to the A question, for the AAAA question that goes with it. */
  const held = new Map<string, readonly string[] | 'silence' | undefined>()
  socket.on('message', (query, from) => {
    const { name, type, end } = question(query)
    if (type === A || !held.has(name)) {
      asked.push(name)
      held.set(name, answer(name))
    }
    const found = held.get(name)
    if (found !== 'silence') socket.send(reply(query, end, found, type), from.port, from.address)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(53, address, () => resolve())
  })
  const config = `${folder}/resolv.conf`
  await Bun.write(config, `nameserver ${address}\noptions timeout:1 attempts:1\n`)
  const script = `mount --bind ${config} /etc/resolv.conf && exec "$@"`
  return {
    address,
    asked,
    wrap: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'],
    async [Symbol.asyncDispose]() {
      await new Promise<void>(resolve => socket.close(() => resolve()))
    },
  }
}

function question(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function reply(query: Buffer, end: number, found: readonly string[] | undefined, type: number): Buffer {
  const wanted = (found ?? []).filter(one => one.includes(':') === (type === AAAA) && (type === A || type === AAAA))
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(0x8180 | (found ? 0 : NO_SUCH_NAME), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(wanted.length, 6)
  head.writeUInt32BE(0, 8)
  const records = wanted.map(one => {
    const data = type === A ? Buffer.from(one.split('.').map(Number)) : ipv6(one)
    const fixed = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length])
    return Buffer.concat([fixed, data])
  })
  return Buffer.concat([head, ...records])
}

/** Groups of an address as `URL` writes it, with at most one `::`. */
function ipv6(text: string): Buffer {
  const [front = '', back] = text.split('::')
  const groups = (part: string | undefined): number[] =>
    part ? part.split(':').map(group => Number.parseInt(group, 16)) : []
  const zeros = back === undefined ? [] : Array<number>(8 - groups(front).length - groups(back).length).fill(0)
  const bytes = Buffer.alloc(16)
  for (const [index, group] of [...groups(front), ...zeros, ...groups(back)].entries())
    bytes.writeUInt16BE(group, index * 2)
  return bytes
}
