import { asApiError } from '../../api/problem.ts'
import { toast } from '../../components/layers/toast.ts'
import { errorText } from '../../components/states.ts'

/** Runs an action and shows a message; an error is shown with its code. Undefined: it failed. */
export async function attempt<T>(act: () => Promise<T>, done?: string, undo?: () => void): Promise<T | undefined> {
  try {
    const result = await act()
    if (done !== undefined) toast(done, undo)
    return result
  } catch (error) {
    const failed = asApiError(error)
    toast(`${errorText(failed)} (${failed.code})`)
    return undefined
  }
}
