//! The manager in a real browser (chromium, headless, by the WebDriver protocol): a member is
//! disabled by the form, its traffic stops, and it is enabled again; the page fits a phone.

mod common;

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::server::free_port;
use common::wait::wait_for;
use common::{Backend, Client, Server, get};
use serde_json::{Value, json};

/// A browser under remote control.
struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: PathBuf,
}

impl Browser {
    /// `None`: there is no chromium here.
    fn start(width: u32) -> Option<Browser> {
        let driver = "/usr/bin/chromedriver";
        if !Path::new(driver).exists() {
            eprintln!("no chromedriver here: skipped");
            return None;
        }
        let port = free_port();
        let child = Command::new(driver)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let profile = std::env::temp_dir().join(format!("muster-browser-{port}"));
        let mut b = Browser {
            driver: child,
            port,
            session: String::new(),
            profile,
        };
        wait_for("chromedriver listens", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        let profile = format!("--user-data-dir={}", b.profile.display());
        let size = format!("--window-size={width},900");
        let args = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &profile,
            &size,
        ];
        let wanted =
            json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": args}}}});
        let made = b.call("POST", "/session", &wanted);
        b.session = made["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("{made}"))
            .to_owned();
        // A phone is narrower than a desktop's window may be.
        let metrics = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params":
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}});
        b.command("POST", "/goog/cdp/execute", &metrics);
        Some(b)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" {
            body.to_string()
        } else {
            String::new()
        };
        // It keeps connections open whatever it is told.
        let mut c = Client::connect(self.port);
        c.set_patience(Duration::from_secs(60));
        c.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        ))
        .unwrap();
        let text = c.response(method).unwrap().text();
        let v: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        v["value"].clone()
    }

    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let v = self.call(method, &format!("/session/{}{path}", self.session), body);
        assert!(v["error"].is_null(), "{path}: {v}");
        v
    }

    fn open(&self, url: &str) {
        self.command("POST", "/url", &json!({ "url": url }));
    }

    fn find(&self, css: &str) -> String {
        let v = self.command(
            "POST",
            "/element",
            &json!({"using": "css selector", "value": css}),
        );
        v.as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn click(&self, css: &str) {
        let element = self.find(css);
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// The text of an element, or `None` while another page is on its way.
    fn text(&self, css: &str) -> Option<String> {
        let find = json!({"using": "css selector", "value": css});
        let session = format!("/session/{}", self.session);
        let found = self.call("POST", &format!("{session}/element"), &find);
        let element = found.as_object()?.values().next()?.as_str()?;
        let v = self.call(
            "GET",
            &format!("{session}/element/{element}/text"),
            &Value::Null,
        );
        Some(v.as_str()?.to_owned())
    }

    fn number(&self, script: &str) -> f64 {
        let v = self.command(
            "POST",
            "/execute/sync",
            &json!({"script": script, "args": []}),
        );
        v.as_f64().unwrap_or_else(|| panic!("{script}: {v}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call(
                "DELETE",
                &format!("/session/{}", self.session),
                &Value::Null,
            );
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

fn names(port: u16, n: usize) -> String {
    (0..n)
        .map(|_| get(port, "/x").unwrap().text().chars().next().unwrap())
        .collect()
}

fn site() -> (Server, Backend, Backend) {
    let (a, b) = (Backend::start("a"), Backend::start("b"));
    let server = Server::start(&format!(
        "Listen 127.0.0.1:@PORT@\nStartServers 2\n<Proxy balancer://shop>\n\
         BalancerMember http://127.0.0.1:{} route=a\nBalancerMember http://127.0.0.1:{} route=b\n</Proxy>\n\
         <Location /bm>\nSetHandler balancer-manager\nRequire local\n</Location>\n\
         ProxyPass /bm !\nProxyPass / balancer://shop/\n",
        a.port, b.port
    ));
    (server, a, b)
}

#[test]
fn a_member_is_disabled_and_enabled_by_hand() {
    let (server, a, _b) = site();
    let Some(browser) = Browser::start(1280) else {
        return;
    };
    assert_eq!(names(server.port, 4).matches('a').count(), 2);
    browser.open(&format!("http://localhost:{}/bm", server.port));
    assert!(
        browser
            .text("h1")
            .is_some_and(|t| t.contains("Load Balancer Manager"))
    );
    // The style sheet and the pictures are not blocked by the page's own policy.
    assert!(
        browser.number("return document.querySelector('svg').getBoundingClientRect().height")
            > 10.0
    );
    assert_eq!(
        browser.number("return parseFloat(getComputedStyle(document.body).marginTop)"),
        0.0
    );
    let link = format!("a[href*='{}']", a.port);
    for (choice, status) in [("#w_status_D1", "Init Dis"), ("#w_status_D0", "Init Ok")] {
        browser.click(&link);
        browser.click(choice);
        browser.click("#edit button");
        common::eventually(status, || {
            browser.text("tr.sel .st").as_deref() == Some(status)
        });
        let count = names(server.port, 8).matches('a').count();
        assert_eq!(count, if status == "Init Ok" { 4 } else { 0 });
    }
    let url = browser.command("GET", "/url", &Value::Null);
    assert!(
        url.as_str().unwrap().contains("/bm?b=shop&w="),
        "{url}: reloading must not send the form again"
    );
}

#[test]
fn the_page_fits_a_phone() {
    let (server, a, _b) = site();
    let Some(browser) = Browser::start(390) else {
        return;
    };
    browser.open(&format!("http://localhost:{}/bm", server.port));
    browser.click(&format!("a[href*='{}']", a.port));
    let wide = browser.number("return document.documentElement.scrollWidth");
    assert!(wide <= 390.0, "{wide}");
    assert!(
        browser
            .number("return document.querySelector('#edit button').getBoundingClientRect().height")
            >= 36.0
    );
    let label = "return getComputedStyle(document.querySelector('tr.sel td.st'),'::before').content.includes('Status') ? 1 : 0";
    assert_eq!(browser.number(label), 1.0, "cells carry their names");
}
