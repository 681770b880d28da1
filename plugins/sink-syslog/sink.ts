import { hostname } from 'node:os'
import type { LogRecord, LogSink } from 'patchbay/features'
import { type Carrier, StreamCarrier, type Target, UdpCarrier } from './carriers.ts'
import { FACILITIES, type SyslogConfig } from './config.ts'
import { cutBytes, type Sender, syslogMessage } from './message.ts'

/** Bytes that every collector has to accept in one datagram (RFC 5426, section 3.2). */
const MOST_DATAGRAM_BYTES = 2_048

/** Sends records to one collector, over one connection that is opened when needed. */
export class SyslogSink {
  readonly #sender: Sender
  readonly #carrier: Carrier
  readonly #isUdp: boolean

  constructor(config: Target & Pick<SyslogConfig, 'facility'>) {
    this.#sender = { facility: FACILITIES[config.facility] ?? 16, host: hostname(), processId: process.pid }
    this.#isUdp = config.protocol === 'udp'
    this.#carrier = this.#isUdp ? new UdpCarrier(config) : new StreamCarrier(config)
  }

  get contribution(): LogSink {
    return { maxBatch: 500, write: (batch, signal) => this.#write(batch, signal) }
  }

  close(): void {
    this.#carrier.close()
  }

  #write(batch: readonly LogRecord[], signal: AbortSignal): Promise<void> {
    const messages = batch.map(record => syslogMessage(record, this.#sender))
    if (this.#isUdp)
      return this.#carrier.send(
        messages.map(message => cutBytes(message, MOST_DATAGRAM_BYTES)),
        signal,
      )
    // Octet counting (RFC 6587, section 3.4.1).
    const framed = messages.flatMap(message => [Buffer.from(`${message.length} `), message])
    return this.#carrier.send([Buffer.concat(framed)], signal)
  }
}
