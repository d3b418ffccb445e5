//! What a child keeps of each balancer, and how it sees what others changed: members that joined,
//! routes, the method and the sticky names.

use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::balancing::Balancing;
use super::hash;
use super::method::{self, LbMethod};
use crate::config::settings::{BalancerParams, Settings, Worker, WorkerParams};
use crate::config::worker_url::WorkerUrl;
use crate::ids::{BalancerNo, WorkerNo};
use crate::shm::{BalancerRow, Routes, WorkerRow};

/// What this child keeps of a balancer.
pub(super) struct Local {
    pub(super) no: BalancerNo,
    pub(super) row: BalancerRow,
    pub(super) list: RefCell<List>,
    /// The table's change counter when `list` was made.
    pub(super) seen: Cell<u32>,
    /// Rows of members that may be added at run time.
    pub(super) grown: Vec<WorkerRow>,
    pub(super) method: Cell<&'static dyn LbMethod>,
    /// With the method and the sticky names as they are now.
    pub(super) live: RefCell<Rc<BalancerParams>>,
    /// The last turn was had in time.
    pub(super) patient: Cell<bool>,
    /// Members are to be drawn by heartbeats, and none is fresh.
    pub(super) silent: Cell<bool>,
    /// That was told.
    pub(super) told_silent: Cell<bool>,
    /// The last choice began with a forced recovery.
    pub(super) forced: Cell<bool>,
}

/// The members of a balancer, configured ones first.
#[derive(Default)]
pub(super) struct List {
    pub(super) members: Vec<WorkerNo>,
    pub(super) rows: Vec<WorkerRow>,
    /// How long a probe of each member may last before another request may try too.
    pub(super) probe_limit: Vec<Duration>,
    pub(super) routes: Vec<Routes>,
    /// Of their names.
    pub(super) hashes: Vec<u64>,
}

impl Balancing {
    /// The balancer's members as they are now: those that joined since the last look included.
    pub(super) fn list<'a>(&self, local: &'a Local) -> Ref<'a, List> {
        self.catch_up(local);
        local.list.borrow()
    }

    /// Sees what was changed by hand, and members that joined.
    pub(super) fn catch_up(&self, local: &Local) {
        let changes = self.board.changes(local.row);
        if local.seen.get() != changes {
            local.seen.set(changes);
            let mut live = BalancerParams::clone(&local.live.borrow());
            live.lbmethod = self.board.lbmethod(local.row);
            live.sticky = self.board.sticky(local.row);
            if let Some(method) = method::find(&live.lbmethod) {
                local.method.set(method);
            }
            local.live.replace(Rc::new(live));
            let mut list = local.list.borrow_mut();
            let first = self.settings.first_grown(local.no).0;
            for (i, &row) in local.grown.iter().enumerate() {
                if list.rows.contains(&row) {
                    continue;
                }
                let no = WorkerNo(first + i as u16);
                if let Some(worker) = self.grown_member(local, no, row) {
                    list.push(&self.settings, worker, row, self.board.routes(row));
                }
            }
        }
    }

    /// A member that was added at run time, when there is one in this row.
    pub(super) fn grown_member(
        &self,
        local: &Local,
        no: WorkerNo,
        row: WorkerRow,
    ) -> Option<&Worker> {
        let place = self.grown.get(no.index() - self.settings.workers.len())?;
        if let Some(worker) = place.get() {
            return Some(worker);
        }
        let found = self.board.found(row)?;
        let url = WorkerUrl::parse(&found.name).ok()?;
        let balancer = self.settings.balancer(local.no);
        Some(place.get_or_init(|| Worker {
            no,
            name: url.name,
            scheme: url.scheme,
            host: url.host,
            port: url.port,
            port_is_set: url.port_is_set,
            unix: url.unix,
            path: url.path,
            balancer: Some(local.no),
            server: balancer.server,
            params: WorkerParams::default(),
            span: balancer.span.clone(),
        }))
    }

    /// Sees routes that were changed.
    pub(super) fn refresh_routes(&self, local: &Local) {
        let List { routes, rows, .. } = &mut *local.list.borrow_mut();
        for (copy, &row) in routes.iter_mut().zip(rows.iter()) {
            if self.board.routes_version(row) != copy.version {
                *copy = self.board.routes(row);
            }
        }
    }

    pub(super) fn row(&self, worker: WorkerNo) -> Option<WorkerRow> {
        match worker.index().checked_sub(self.workers.len()) {
            None => self.workers.get(worker.index()).copied().flatten(),
            Some(i) => self.grown_rows.get(i).copied(),
        }
    }

    /// A worker with its settings, also one that joined at run time.
    ///
    /// # Panics
    /// For a number that neither the configuration nor a [`Choice`] gave.
    pub fn worker(&self, no: WorkerNo) -> &Worker {
        match no.index().checked_sub(self.settings.workers.len()) {
            None => self.settings.worker(no),
            Some(i) => match self.grown.get(i).and_then(OnceCell::get) {
                Some(worker) => worker,
                None => panic!("worker {no} is not known"),
            },
        }
    }

    /// The balancer's members now, configured ones first.
    pub fn members(&self, balancer: BalancerNo) -> Vec<WorkerNo> {
        let local = self.balancers.get(balancer.index());
        local.map_or_else(Vec::new, |local| self.list(local).members.clone())
    }

    /// The balancer's members with their rows.
    pub fn rows(&self, balancer: BalancerNo) -> Vec<(WorkerNo, WorkerRow)> {
        self.balancers
            .get(balancer.index())
            .map_or_else(Vec::new, |local| {
                let list = self.list(local);
                let both = list.members.iter().copied().zip(list.rows.iter().copied());
                both.collect()
            })
    }

    /// Rows of members that may be added to it, used or not.
    pub fn grown_rows(&self, balancer: BalancerNo) -> &[WorkerRow] {
        let local = self.balancers.get(balancer.index());
        local.map_or(&[], |local| &local.grown)
    }

    /// The row of a balancer.
    pub fn balancer_row(&self, balancer: BalancerNo) -> Option<BalancerRow> {
        self.balancers.get(balancer.index()).map(|local| local.row)
    }

    /// The same with the method and the sticky names as they are now, for `sticky::find`.
    pub fn live(&self, balancer: BalancerNo) -> Rc<BalancerParams> {
        match self.balancers.get(balancer.index()) {
            Some(local) => {
                self.catch_up(local);
                Rc::clone(&local.live.borrow())
            }
            None => Rc::new(self.params(balancer).clone()),
        }
    }

    /// Whether the balancer's method wants a key of each request.
    pub fn wants_key(&self, balancer: BalancerNo) -> bool {
        let local = self.balancers.get(balancer.index());
        local.is_some_and(|local| {
            self.catch_up(local);
            local.method.get().needs_key()
        })
    }
}

impl List {
    pub(super) fn push(
        &mut self,
        settings: &Settings,
        worker: &Worker,
        row: WorkerRow,
        routes: Routes,
    ) {
        let p = &worker.params;
        let timeout = settings.server(worker.server).proxy.timeout;
        let connect = p.connection_timeout.or(p.timeout).unwrap_or(timeout);
        self.members.push(worker.no);
        self.rows.push(row);
        self.probe_limit.push(connect.max(p.retry));
        self.routes.push(routes);
        self.hashes.push(hash::of(worker.name.as_bytes()));
    }
}
