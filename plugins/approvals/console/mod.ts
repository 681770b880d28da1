import type { MakePart } from 'patchbay/console'

/** The page of calls that wait for a person. */
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
