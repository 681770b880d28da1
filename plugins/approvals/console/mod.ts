import type { MakePart } from 'patchbay/console'

/** The calls that wait for a decision. */
export const approvals: MakePart = ({ t }) => ({
  plugin: 'approvals',
  places: [
    {
      id: 'approvals',
      paths: ['/approvals', '/approvals/:id'],
      title: () => t('Approvals'),
      icon: 'hand',
      rail: 'watch',
      element: 'pb-page-approvals',
      load: () => import('./page.ts'),
    },
  ],
})
