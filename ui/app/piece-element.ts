import { type ApiError, asApiError } from '../api/problem.ts'
import { PbElement } from '../components/element.ts'
import { errorState, skeleton } from '../components/states.ts'
import { namedElement } from './page-element.ts'
import type { Piece, PieceSubject } from './part.ts'

/** Shows a part of a plugin, whose chunk it loads first. `subject`: the thing of which it is a part. */
export class PbPiece extends PbElement {
  static override properties = {
    piece: { attribute: false },
    subject: { attribute: false },
    loaded: { state: true },
    error: { state: true },
  }
  declare piece: Piece
  declare subject: PieceSubject | undefined
  /** The element whose chunk has loaded. */
  declare loaded: string
  declare error: ApiError | undefined

  protected override willUpdate(changed: Map<string, unknown>): void {
    if (changed.has('piece') && this.piece.element !== this.loaded) void this.#load(this.piece)
  }

  override render(): unknown {
    if (this.error) return errorState(this.error, () => void this.#load(this.piece))
    if (this.loaded !== this.piece.element) return skeleton(4)
    return namedElement(this.piece.element, this.subject)
  }

  async #load({ element, load }: Piece): Promise<void> {
    this.error = undefined
    try {
      await load()
      this.loaded = element
    } catch (error) {
      this.error = asApiError(error)
    }
  }
}
customElements.define('pb-piece', PbPiece)

declare global {
  interface HTMLElementTagNameMap {
    'pb-piece': PbPiece
  }
}
