import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/** Number of ports to choose from: two test runs at the same time hardly ever choose the same one. */
const CHOICES = 12_000
/** Below these nothing listens without an administrator's rights. */
const PRIVILEGED = 1_024
const TRIES = 20

/**
 * Returns an unused port of 127.0.0.1, for a program that needs a fixed port. It is outside of the range from which the system
 * assigns ports: Caddy shares a port with another listener on it, and clients of one then reached the other.
 */
export async function freePort(): Promise<number> {
  const first = lowestOfAny() - CHOICES
  for (let tries = 0; tries < TRIES && first > PRIVILEGED; tries += 1) {
    const port = first + Math.floor(Math.random() * CHOICES)
    if (await listened(port).catch(() => undefined)) return port
  }
  return listened(0)
}

/** The lowest port that the system assigns to listeners without a fixed port, and to connections. */
function lowestOfAny(): number {
  try {
    return Number(/\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))?.[0] ?? 0)
  } catch {
    return 0
  }
}

function listened(wanted: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.on('error', reject)
  server.listen(wanted, '127.0.0.1', () => {
    const { port } = server.address() as { port: number }
    server.close(() => resolve(port))
  })
  return promise
}
