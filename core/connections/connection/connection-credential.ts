import type { ErrorCode } from '../../contract/errors.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { CarriedHeaders, FromWorker, ToWorker } from '../protocol.ts'
import type { CarriedCredential } from './carried-credential.ts'

type Sent = Omit<Extract<ToWorker, { readonly type: 'credential' }>, 'type' | 'conn'>

/** The credential of one open connection: answers the worker's questions after refusals. */
export class ConnectionCredential {
  readonly credential: CarriedCredential
  readonly #send: (message: Sent) => void
  #refusal: WireError | undefined

  constructor(credential: CarriedCredential, send: (message: Sent) => void) {
    this.credential = credential
    this.#send = send
  }

  /** Answers that the headers of a version were refused. Never rejects. */
  async refused({ version, challenge }: Extract<FromWorker, { readonly type: 'credential-refused' }>): Promise<void> {
    const answer = await this.credential.refused(version, challenge)
    this.#refusal = answer.error
    this.#send({ answers: true, ...answer })
  }

  /** Other headers for the next requests. */
  set(carried: CarriedHeaders): void {
    this.#refusal = undefined
    this.#send({ answers: false, carried })
  }

  /** The reason of a failed call, with the data that the worker does not send with it. */
  reasonOf(code: ErrorCode): WireError | undefined {
    return this.#refusal?.code === code ? this.#refusal : undefined
  }
}
