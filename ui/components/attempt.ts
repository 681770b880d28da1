import { type ApiError, asApiError } from '../api/problem.ts'

/** An element that shows an error of its work, and disables buttons while it is busy. */
export interface Attempting {
  busy: boolean
  error: ApiError | undefined
}

/** Does work of an element, which is busy meanwhile and gets an error of it; `failed` is called for one. Never rejects. */
export async function attempt(
  element: Attempting,
  act: () => Promise<unknown>,
  failed?: (error: ApiError) => void,
): Promise<void> {
  element.busy = true
  element.error = undefined
  try {
    await act()
  } catch (cause) {
    const error = asApiError(cause)
    element.error = error
    failed?.(error)
  }
  element.busy = false
}
