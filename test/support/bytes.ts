import { LIMITS } from '../../core/config/limits.ts'
import { BytesInFlight } from '../../core/domain/byte-account.ts'

/** The accounts of bytes in flight with the limits of the product. */
export function bytesInFlight(): BytesInFlight {
  return new BytesInFlight({
    perUser: LIMITS.bytesInFlightPerUser,
    perAddress: LIMITS.bytesInFlightPerAddress,
    total: LIMITS.bytesInFlight,
  })
}
